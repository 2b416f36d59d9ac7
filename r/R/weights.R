#' Weights from log-likelihoods
#'
#' The paper's Supplement 1 for a model that was fitted elsewhere, in Stan for example: a matrix of log-likelihoods
#' goes in, weights come out. The confidential numbers stay in this process.
#'
#' For LW give the matrix of the unweighted fit. For [Reweight()] give that of the weighted fit, and its weights as
#' `alpha`. For [CW()] give the values themselves as `records`; `loglik` may then be `NULL`. What a draw costs under
#' the new weights shows in the fit that has them: [bounds_from()] its matrix.
#'
#' @param loglik A matrix, draws by records, of log p(x_i | theta_s); or an array, iterations by chains by records, as
#'   `rstan::extract(fit, "log_lik", permuted = FALSE)` gives, all chains' iterations being draws; or the
#'   path of a file (.npy, .csv, .parquet, .arrow, .nc), which is read in parts; or an rstan fit with `log_lik`.
#' @param rule The [rule][rules] that makes the weights.
#' @param alpha Weights that the fit had; all 1 unless told.
#' @param weighted Whether the entries are multiplied by `alpha` already, as those of the paper's Stan script are.
#' @param thresh Draws above this quantile of their largest alpha |f| are dropped, and must not be released.
#' @param records The response's values, for [CW()].
#' @param densities Whether entries may be above 0, as logarithms of densities may.
#' @param records_in `"rows"` for a matrix with a row for each record, `"columns"` for one that looks like such a one
#'   and is none.
#' @return A list of class `alphasynth_weights`: the new weights `alpha`, and of the fit that the matrix is of `largest`
#'   (F, each record's largest absolute log-likelihood), Lipschitz bounds `by_record` and `overall` (Delta),
#'   `epsilon_per_draw` = 2 Delta, `num_draws`, `n`; `thresh_quantile`, the L of Supplement 1; whether weights were given
#'   (`weighted_fit`) and what they were made from was compared with this matrix (`compared`); and `made_from`, the F
#'   that a matrix of the next fit is compared with, where the weights need another fit. All of it is confidential.
#' @examples
#' if (alphasynth_available()) {
#'   y <- rpois(100, 6)
#'   mu <- rgamma(500, sum(y) + 1, length(y) + 1)
#'   loglik <- outer(mu, y, function(mu, y) dpois(y, mu, log = TRUE))
#'   weights_from(loglik, LW())
#'   bounds_from(loglik)
#' }
#' @export
weights_from <- function(loglik, rule = LW(), alpha = NULL, weighted = FALSE, thresh = 1, records = NULL,
                         densities = FALSE, records_in = NULL) {
  if (missing(loglik)) refuse(NO_LOGLIK)
  settings <- reading(alpha, weighted, thresh, densities, records_in)
  if (!is.null(records)) settings$records <- numeric_bytes("records", records)
  told <- ask("weights_from", loglik_to_python(loglik, records_in), rule_to_python(rule), settings)
  before <- if (is.null(told$before)) list(n = told$n) else bounds_of(told$before)
  made_from <- if (!is.null(told$made_from)) list(made_from = from_bytes(told$made_from))
  structure(c(list(alpha = from_bytes(told$alpha)), before, made_from), class = "alphasynth_weights")
}

#' Lipschitz bounds from log-likelihoods
#'
#' What a draw of a fit costs by the paper's claim: epsilon = 2 Delta, Delta the largest alpha |log p(x_i | theta_s)|.
#' An estimate for the data at hand, and not differential privacy.
#'
#' @inheritParams weights_from
#' @return A list of class `alphasynth_bounds`, as [weights_from()] gives but for the new weights.
#' @export
bounds_from <- function(loglik, alpha = NULL, weighted = FALSE, thresh = 1, densities = FALSE, records_in = NULL) {
  if (missing(loglik)) refuse(NO_LOGLIK)
  settings <- reading(alpha, weighted, thresh, densities, records_in)
  told <- ask("bounds_from", loglik_to_python(loglik, records_in), settings)
  structure(bounds_of(told), class = "alphasynth_bounds")
}

NO_LOGLIK <- "loglik must be given, a matrix of log-likelihoods, found none"

reading <- function(alpha = NULL, weighted = FALSE, thresh = 1, densities = FALSE, records_in = NULL) {
  made_from <- if (inherits(alpha, "alphasynth_weights")) alpha$made_from
  if (inherits(alpha, "alphasynth_weights")) alpha <- alpha$alpha
  settings <- lapply(list(weighted = weighted, thresh = thresh, densities = densities), plain)
  if (!is.null(records_in)) settings$records_in <- plain(records_in)
  c(settings, if (!is.null(alpha)) list(alpha = numeric_bytes("alpha", alpha)),
    if (!is.null(made_from)) list(made_from = numeric_bytes("made_from", made_from)))
}

numeric_bytes <- function(name, x) {
  if (!is.numeric(x)) refuse(name, " must be numbers, found ", class(x)[1])
  to_bytes(x)
}

bounds_of <- function(told) {
  for (name in c("largest", "by_record")) told[[name]] <- from_bytes(told[[name]])
  told
}

# A raw vector of R's holds less than 2^31 bytes, so that a large matrix goes over in parts.
LARGEST_PART <- 2^28

loglik_to_python <- function(loglik, records_in = NULL, largest_part = LARGEST_PART) {
  if (is.null(loglik)) return(NULL)
  if (inherits(loglik, "stanfit")) loglik <- of_stan(loglik)
  if (length(dim(loglik)) == 3L) loglik <- of_chains(loglik, records_in)
  if (is.character(loglik) && length(loglik) == 1L) return(path.expand(loglik))
  if (is.data.frame(loglik)) loglik <- as.matrix(loglik)
  if (!is.matrix(loglik) || !is.numeric(loglik)) {
    refuse("loglik must be a matrix of numbers, draws by records, found ", class(loglik)[1])
  }
  if (!length(loglik)) refuse("loglik must have draws and records, found ", nrow(loglik), " x ", ncol(loglik))
  each <- max(1, largest_part %/% (8 * nrow(loglik)))
  starts <- seq(1, ncol(loglik), by = each)
  parts <- lapply(starts, function(start) to_bytes(loglik[, start:min(start + each - 1, ncol(loglik))]))
  list(rows = nrow(loglik), columns = ncol(loglik), parts = parts)
}

of_stan <- function(fit) {
  tryCatch(
    do.call(getExportedValue("rstan", "extract"), list(fit, "log_lik"))$log_lik,
    error = function(e) refuse("loglik must be of a Stan program that has log_lik, found none in this fit")
  )
}

# Iterations of all chains are draws. An array of a whole fit has parameters beside the log-likelihoods.
of_chains <- function(loglik, records_in) {
  if (identical(records_in, "rows")) {
    refuse("an array of loglik must be iterations x chains x records, found records_in = \"rows\" beside it")
  }
  variables <- unique(sub("\\[.*$", "", dimnames(loglik)[[3L]]))
  if (length(variables) > 1L && any(grepl("[", dimnames(loglik)[[3L]], fixed = TRUE))) {
    refuse("an array of loglik must be of log-likelihoods alone, iterations x chains x records, found ",
           length(variables), " variables in it")
  }
  matrix(loglik, ncol = dim(loglik)[3L])
}

#' @export
print.alphasynth_bounds <- function(x, ...) {
  cat("Bounds of ", count(x$n, "record"), " over ", count(x$num_draws, "draw"), " (confidential), if these are of ",
      if (x$weighted_fit) "a fit with these weights" else "the fit without weights", "\n", sep = "")
  if (is.finite(x$overall)) {
    cat("  Delta ", up(x$overall), ", epsilon ", up(x$epsilon_per_draw),
        " per draw: an estimate for these data, not differential privacy\n", sep = "")
  } else {
    cat("  no bound: some draws make some records impossible (-Inf), and new weights of those records are 0\n")
  }
  if (x$weighted_fit && !x$compared) cat("  Not compared: the weights came without what they were made from\n")
  invisible(x)
}

#' @export
print.alphasynth_weights <- function(x, ...) {
  zeros <- sum(x$alpha == 0)
  cat("Weights of ", count(x$n, "record"), " (confidential): mean ", format(mean(x$alpha), digits = 3), ", ",
      sum(x$alpha == 1), " at 1, ", zeros, " at 0\n", sep = "")
  if (!is.null(x$overall)) {
    bound <- if (is.finite(x$overall)) paste("with Delta", up(x$overall)) else "without a bound (entries of -Inf)"
    cat("  made from a fit ", bound, " over ", count(x$num_draws, "draw"),
        "; under these weights it is another: fit again\n", sep = "")
  }
  invisible(x)
}

# A privacy number is never rounded down.
up <- function(x, digits = 4L) {
  if (!is.finite(x) || x == 0) return(format(x))
  size <- 10^(digits - 1 - floor(log10(abs(x))))
  format(ceiling(x * size * (1 - 1e-14)) / size, digits = digits + 1L)
}

count <- function(n, what) paste0(format(n, big.mark = ",", trim = TRUE), " ", what, if (n == 1) "" else "s")
