#' Rules that make weights
#'
#' The paper's rules, for [weights_from()] and, one or several in a list, as the `mechanism` of [alphasynth()].
#'
#' `LW` gives alpha = scale (1 - risk) + shift, the risk being a record's largest absolute log-likelihood, rescaled to
#' \[0, 1\]. `CW` has for risk the share of records that lie farther than `radius` from the record's own value. `SW` is
#' one weight for all, `Given` are weights of your own. `Reweight` follows another rule: it moves each record's
#' bound to k times the largest.
#'
#' @param scale,shift The paper's c and g.
#' @param radius How near another record must be; times the value where `relative`.
#' @param relative Whether the radius is a share of the value.
#' @param within Names of columns: records are compared with those that share their values.
#' @param k The paper's k, or in a mechanism `"auto"`: the largest below 1 that keeps the bound.
#' @param keep_zeros Whether a record of weight 0 keeps it; it has the weight k Delta / F else, as any other.
#' @param alpha One weight for all (`SW`), or one for each record (`Given`), in \[0, 1\].
#' @param match Without an `alpha`: the rule whose bound the weight is to match ([LW()] unless told), or a Delta.
#' @param by `"search"` brings the bound there; `"formula"` takes the paper's quotient of bounds, which may miss it.
#' @return A rule.
#' @examples
#' LW(scale = 0.9)
#' list(CW(radius = 0.3, relative = TRUE), Reweight(k = 0.95))
#' @name rules
NULL

rule <- function(name, options) {
  options <- options[!vapply(options, is.null, NA)]
  names(options) <- if (length(options)) names(options) else character()
  structure(list(name = name, options = options), class = "alphasynth_rule")
}

#' @rdname rules
#' @export
LW <- function(scale = 1, shift = 0) rule("LW", list(scale = scale, shift = shift))

#' @rdname rules
#' @export
CW <- function(radius, relative = FALSE, scale = 1, shift = 0, within = NULL) {
  if (missing(radius)) refuse("radius must be given, since what is near depends on the data, found none")
  rule("CW", list(radius = radius, relative = relative, scale = scale, shift = shift, within = within))
}

#' @rdname rules
#' @export
SW <- function(alpha = NULL, match = NULL, by = "search") rule("SW", list(alpha = alpha, match = match, by = by))

#' @rdname rules
#' @export
Reweight <- function(k = "auto", keep_zeros = FALSE) rule("Reweight", list(k = k, keep_zeros = keep_zeros))

#' @rdname rules
#' @export
Given <- function(alpha) {
  if (missing(alpha)) refuse("alpha must be given, one weight for each record, found none")
  rule("Given", list(alpha = alpha))
}

#' @export
print.alphasynth_rule <- function(x, ...) {
  shown <- vapply(x$options, function(one) {
    if (inherits(one, "alphasynth_rule")) return(one$name)
    if (length(one) > 3L) paste(length(one), "numbers") else paste(one, collapse = ", ")
  }, "")
  cat(x$name, "(", paste(names(x$options), shown, sep = " = ", collapse = ", "), ")\n", sep = "")
  invisible(x)
}

rule_to_python <- function(x) {
  if (!inherits(x, "alphasynth_rule")) {
    refuse("rule must be one of LW(), CW(), SW(), Reweight() or Given(), found ", class(x)[1])
  }
  options <- x$options
  if (x$name == "Given") {
    if (!is.numeric(options$alpha)) refuse("alpha must be numbers, found ", class(options$alpha)[1])
    options$alpha <- to_bytes(options$alpha)
  }
  if (inherits(options$match, "alphasynth_rule")) options$match <- rule_to_python(options$match)
  list(name = x$name, options = lapply(options, plain))
}
