# A formula of R as the Python side reads it: a text of columns, operators and a list of functions; nothing is
# evaluated.

OPERATORS <- c("~", "+", "-", "*", "/", ":", "^", "%%", "%/%", "==", "!=", "<", "<=", ">", ">=")
IN_PYTHON <- c("^" = "**", "%%" = "%", "%/%" = "//")
FUNCTIONS <- c(
  factor = "C", as.factor = "C",
  sqrt = "np.sqrt", abs = "np.abs", log1p = "np.log1p", expm1 = "np.expm1", sign = "np.sign", floor = "np.floor",
  ceiling = "np.ceil", trunc = "np.trunc", sin = "np.sin", cos = "np.cos", tan = "np.tan", pmin = "np.minimum",
  pmax = "np.maximum", ifelse = "np.where"
)

# A dot on the right stands for all columns but the response, as in R.
formula_text <- function(formula, columns) {
  if (is.character(formula)) return(enc2utf8(formula))
  if (!inherits(formula, "formula") || length(formula) != 3L) {
    found <- if (inherits(formula, "formula")) "no response" else class(formula)[1]
    refuse("formula must read response ~ terms, found ", found)
  }
  others <- setdiff(columns, all.vars(formula[[2L]]))
  paste(spelled(formula[[2L]], others), "~", spelled(formula[[3L]], others))
}

spelled <- function(e, others) {
  if (is.name(e)) return(if (identical(e, quote(.))) dot(others) else quoted(as.character(e)))
  if (!is.call(e)) return(constant(e))
  if (!is.name(e[[1L]])) refuse("formula must call functions by their names, found another call")
  name <- as.character(e[[1L]])
  if (name == "(") return(paste0("(", spelled(e[[2L]], others), ")"))
  if (name %in% OPERATORS) return(operation(name, e, others))
  arguments <- vapply(as.list(e)[-1L], spelled, "", others)
  if (name == "c") return(paste0("[", paste(arguments, collapse = ", "), "]"))
  named <- names(as.list(e)[-1L])
  if (!is.null(named)) arguments <- paste0(ifelse(named == "", "", paste0(named, "=")), arguments)
  paste0(if (name %in% names(FUNCTIONS)) FUNCTIONS[[name]] else name, "(", paste(arguments, collapse = ", "), ")")
}

operation <- function(name, e, others) {
  sign <- if (name %in% names(IN_PYTHON)) IN_PYTHON[[name]] else name
  if (length(e) == 2L) return(paste0(sign, within_sign(e[[2L]], name, FALSE, others)))
  sides <- c(within_sign(e[[2L]], name, TRUE, others), within_sign(e[[3L]], name, FALSE, others))
  paste(sides, collapse = if (name == ":") ":" else paste0(" ", sign, " "))
}

# An operand; in parentheses unless both languages read it alike without them.
within_sign <- function(e, parent, left, others) {
  text <- spelled(e, others)
  child <- if (is.call(e) && is.name(e[[1L]])) as.character(e[[1L]]) else ""
  if (!child %in% OPERATORS) return(text)
  alike <- parent %in% c("+", "-") && (child %in% c("*", ":", "^") || (left && child %in% c("+", "-")))
  if (alike) text else paste0("(", text, ")")
}

dot <- function(others) paste0("(", paste(vapply(others, quoted, ""), collapse = " + "), ")")

quoted <- function(name) {
  name <- enc2utf8(name)
  if (grepl("^[A-Za-z_.][A-Za-z0-9_.]*$", name)) name else paste0("`", name, "`")
}

constant <- function(x) {
  if (is.logical(x) && !is.na(x)) return(if (x) "True" else "False")
  if (is.numeric(x)) return(format(x, digits = 17L, trim = TRUE))
  deparse(x)
}
