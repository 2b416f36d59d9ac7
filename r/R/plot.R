#' Figures of a run, of weights and of bounds
#'
#' @param x What [alphasynth()], [weights_from()] or [bounds_from()] gave.
#' @param which `"weights"`: each record's Lipschitz bound against its weight, the largest bound as a dashed line, as
#'   in the paper's figures (confidential). `"columns"`: the distribution of each synthetic column, beside that of
#'   `data` where it is given (then confidential). The first one unless told, where there are weights.
#' @param data The confidential data frame, or nothing.
#' @param ... Passed on to [graphics::plot()].
#' @return `x`, invisibly.
#' @export
plot.alphasynth <- function(x, which = if (is.null(x$confidential)) "columns" else "weights", data = NULL, ...) {
  if (!identical(which, "weights") && !identical(which, "columns")) {
    refuse("which must be \"weights\" or \"columns\", found ", if (is.character(which)) "another" else class(which)[1])
  }
  if (!is.null(data) && !is.data.frame(data)) refuse("data must be a data frame, found ", class(data)[1])
  if (which == "weights") {
    if (is.null(x$confidential)) refuse("which must be \"columns\", since a strict mechanism has no weights")
    kept <- x$confidential
    scatter(rowMeans(as.matrix(kept$alpha)), kept$by_record, kept$overall, "weight alpha", ...)
  } else {
    show_columns(stacked(x$tables), data)
  }
  invisible(x)
}

#' @rdname plot.alphasynth
#' @export
plot.alphasynth_weights <- function(x, ...) {
  if (is.null(x$by_record)) {
    graphics::hist(x$alpha, xlab = "weight alpha", main = "", ...)
  } else {
    scatter(x$alpha, x$by_record, x$overall, "next weight alpha", ...)
  }
  invisible(x)
}

#' @rdname plot.alphasynth
#' @export
plot.alphasynth_bounds <- function(x, ...) {
  graphics::hist(x$by_record, xlab = "Lipschitz bound", main = "", ...)
  graphics::abline(v = x$overall, lty = 2L, col = "firebrick")
  invisible(x)
}

scatter <- function(alpha, bounds, overall, label, ...) {
  told <- utils::modifyList(
    list(x = alpha, y = bounds, xlim = c(0, 1), ylim = c(0, 1.05 * overall), xlab = label, ylab = "Lipschitz bound",
         pch = 16L, col = "#1f4e79", cex = 0.6),
    list(...)
  )
  do.call(graphics::plot, told)
  graphics::abline(h = overall, lty = 2L, col = "firebrick")
}

show_columns <- function(made, data) {
  side <- ceiling(sqrt(length(made)))
  before <- graphics::par(mfrow = c(ceiling(length(made) / side), side), mar = c(4, 4, 2, 1))
  on.exit(graphics::par(before))
  for (name in names(made)) show_column(made[[name]], data[[name]], name)
}

COLOURS <- c(synthetic = "#d95f02", confidential = "#1a3c5a")

show_column <- function(made, original, name) {
  both <- c(list(synthetic = made), if (!is.null(original)) list(confidential = original))
  if (is.numeric(made) || inherits(made, "Date")) show_numbers(both, name) else show_levels(both, name)
  if (length(both) > 1L) graphics::legend("topright", names(both), fill = COLOURS[names(both)], bty = "n", cex = 0.8)
}

show_numbers <- function(both, name) {
  values <- lapply(both, function(one) as.double(unclass(one))[!is.na(one)])
  densities <- lapply(values[lengths(values) > 1L], stats::density)
  top <- max(0, vapply(densities, function(one) max(one$y), 1))
  dates <- inherits(both$synthetic, "Date")
  graphics::plot(range(unlist(values)), c(0, 1.1 * top), type = "n", xlab = name, ylab = "density", main = "",
                 xaxt = if (dates) "n" else "s")
  if (dates) graphics::axis.Date(1L, structure(range(unlist(values)), class = "Date"))
  for (which in names(densities)) graphics::lines(densities[[which]], col = COLOURS[[which]], lwd = 2)
}

# Shares of levels, and of missing values where there are any.
show_levels <- function(both, name) {
  levels <- unique(unlist(lapply(both, levels_in)))
  missing <- any(vapply(both, anyNA, NA))
  shares <- lapply(both, function(one) {
    as.vector(prop.table(table(factor(as.character(one), levels), useNA = if (missing) "always" else "no")))
  })
  shares <- matrix(unlist(shares), ncol = length(both), dimnames = list(c(levels, if (missing) "missing"), names(both)))
  graphics::barplot(t(shares), beside = TRUE, col = COLOURS[names(both)], xlab = name, ylab = "share",
                    ylim = c(0, 1.25 * max(shares)))
}
