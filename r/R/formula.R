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
# Their arguments after the first are constants, TRUE and FALSE among them; elsewhere these are 1 and 0.
WITH_OPTIONS <- c("C", "factor", "as.factor", "poly", "bs", "cr", "cs", "cc", "center", "scale", "standardize")
NO_CALLS <- c("if", "for", "while", "repeat", "function")

# The text of a formula, which keeps nothing of the formula's environment. A dot on the right stands for all columns
# but the response, as in R.
formula_text <- function(formula, columns) {
  if (is.character(formula) && length(formula) == 1L && !is.na(formula)) {
    if (!is_sound(formula)) refuse("formula must be text in a known encoding, found some that is not")
    return(enc2utf8(as.vector(formula)))
  }
  if (!inherits(formula, "formula") || length(formula) != 3L) {
    found <- if (inherits(formula, "formula")) "no response" else class(formula)[1]
    refuse("formula must read response ~ terms, found ", found)
  }
  others <- setdiff(columns, all.vars(formula[[2L]]))
  paste(response(formula[[2L]], columns), "~", spelled(formula[[3L]], others, "terms"))
}

response <- function(e, columns) {
  if (is.call(e)) spelled(e, character(), "value")  # says what of it is not available
  if (!is.name(e)) refuse("formula must have one column as it stands before the ~, found something else")
  if (identical(e, quote(.)) && !"." %in% columns) {
    refuse("formula must have a column before the ~, found a dot, which stands for columns behind it only")
  }
  quoted(as.character(e))
}

# The columns that a formula names, by the one reader that there is; what it says of the text is said of the formula.
columns_in <- function(text, formula) {
  bridge()
  tryCatch(as.character(unlist(ask("columns_in", text))), alphasynth_error = function(e) {
    whole <- paste(if (is.character(formula)) formula else deparse(formula), collapse = " ")
    shown <- if (nchar(whole) > 200L) paste0(substr(whole, 1L, 200L), "...") else whole
    refuse("formula '", shown, "' cannot be read: ", conditionMessage(e))
  })
}

# An expression where it stands: among "terms", as a "value" that is computed with, or as an "option" of a function.
spelled <- function(e, others, place) {
  if (is.name(e)) return(if (identical(e, quote(.))) dot(others, place) else quoted(as.character(e)))
  if (!is.call(e)) return(constant(e, place))
  if (!is.name(e[[1L]])) {
    refuse("formula must call functions by their names, and with no package before them, found another call")
  }
  name <- as.character(e[[1L]])
  if (name == "(") return(paste0("(", spelled(e[[2L]], others, place), ")"))
  if (name %in% OPERATORS) operation(name, e, others, place) else called(name, as.list(e)[-1L], others, place)
}

called <- function(name, arguments, others, place) {
  if (!grepl("^[A-Za-z.][A-Za-z0-9_.]*$", name) || name %in% NO_CALLS) refuse_call(name)
  if (any(vapply(arguments, identical, NA, quote(expr = )))) refuse("formula must have no empty argument, found one")
  named <- if (is.null(names(arguments))) rep("", length(arguments)) else names(arguments)
  if (name == "c") {
    if (place != "option") refuse("c() in a formula must list constants of an option, levels say, found it elsewhere")
    return(paste0("[", paste(vapply(unname(arguments), spelled, "", others, "option"), collapse = ", "), "]"))
  }
  option <- named != "" | (seq_along(arguments) > 1L & name %in% WITH_OPTIONS)
  text <- mapply(spelled, arguments, list(others), ifelse(option, "option", "value"))
  text <- paste0(ifelse(named == "", "", paste0(named, "=")), text)
  paste0(if (name %in% names(FUNCTIONS)) FUNCTIONS[[name]] else name, "(", paste(text, collapse = ", "), ")")
}

refuse_call <- function(name) {
  hint <- if (name %in% c("$", "[[", "[", "@")) "; name columns as data has them, y and not d$y" else ""
  refuse("formula must do without '", name, "', which is not available in formulas here", hint)
}

operation <- function(name, e, others, place) {
  sign <- if (name %in% names(IN_PYTHON)) IN_PYTHON[[name]] else name
  if (length(e) == 2L) return(paste0(sign, within_sign(e[[2L]], name, FALSE, others, place)))
  sides <- c(within_sign(e[[2L]], name, TRUE, others, place), within_sign(e[[3L]], name, FALSE, others, place))
  paste(sides, collapse = if (name == ":") ":" else paste0(" ", sign, " "))
}

# An operand; in parentheses unless both languages read it alike without them.
within_sign <- function(e, parent, left, others, place) {
  text <- spelled(e, others, place)
  child <- if (is.call(e) && is.name(e[[1L]])) as.character(e[[1L]]) else ""
  if (!child %in% OPERATORS) return(text)
  alike <- parent %in% c("+", "-") && (child %in% c("*", ":", "^") || (left && child %in% c("+", "-")))
  if (alike) text else paste0("(", text, ")")
}

dot <- function(others, place) {
  if (place != "terms") refuse("a dot in a formula must be a term by itself, found it within a call")
  if (!length(others)) refuse("a dot in a formula must stand for columns beside the response, found none in data")
  paste0("(", paste(vapply(others, quoted, ""), collapse = " + "), ")")
}

quoted <- function(name) {
  if (!is_sound(name)) refuse("columns in a formula must have names in a known encoding, found one that is not")
  if (grepl("`", name, fixed = TRUE)) refuse("columns in a formula must have no backtick in their names, found one")
  name <- enc2utf8(name)
  if (grepl("^[.]*[A-Za-z_][A-Za-z0-9_.]*$", name)) name else paste0("`", name, "`")
}

constant <- function(x, place) {
  if (place == "terms" && !is.numeric(x)) refuse("terms must be columns, calls, 1 or 0, found ", class(x)[1])
  if (is.object(x) || length(x) != 1L || !typeof(x) %in% c("double", "integer", "logical", "character")) {
    refuse("constants in a formula must be one number, text, TRUE or FALSE each, found ", class(x)[1], " of length ",
           length(x))
  }
  if (is.na(x) || x %in% c(Inf, -Inf)) refuse("constants in a formula must be finite, found one that is not")
  if (is.character(x)) return(text_constant(x))
  if (is.logical(x) && place == "option") return(if (x) "True" else "False")
  number(as.double(x))
}

number <- function(x) {
  text <- format(x, digits = 17L, trim = TRUE)
  if (x < 0) paste0("(", text, ")") else text
}

text_constant <- function(x) {
  if (!is_sound(x)) refuse("text in a formula must be in a known encoding, found some that is not")
  x <- gsub("([\\\\\"])", "\\\\\\1", enc2utf8(x))
  paste0("\"", gsub("\n", "\\n", x, fixed = TRUE), "\"")
}
