#' Synthesize a data frame
#'
#' Fits a mechanism to a confidential data frame and simulates synthetic ones. All computing is done by the Python
#' package alphasynth, in this process.
#'
#' What is promised depends on the mechanism: `print` says it in one sentence. `Raked` (whole tables), `Scored` (with
#' covariates) and `Censored` (a column by itself) are differentially private. The paper's `LW`, `CW`, `SW`, `LW_final`
#' and `CW_final` make an asymptotic claim about the data frame at hand that is *not* differential privacy.
#'
#' A strict mechanism learns nothing from the table that is not paid for, levels of a factor neither: in a formula write
#' `C(sex, levels = c("f", "m"))`. What may stand in a formula is in the Python package's guide; `factor`, `sqrt` and
#' the like are understood too. Nothing in a formula is evaluated, so operators of R that are not in that list (`%in%`,
#' `!`, `&`, `$`) are not available.
#'
#' A run with a `seed` can be repeated, by others too, and is marked as not releasable.
#'
#' @section Types:
#' Numbers, integers, logicals, characters, factors, Dates and haven's labelled columns are taken, with `NA`s. Synthetic
#' columns have the type of the original: factors the declared levels, or those that occur, in their order. `label`s of
#' columns and haven's labels of values are carried over as they are, so they must be public; other attributes are not.
#' `NaN` and haven's tagged missing values are missing values, and come back as plain `NA`. Of a strict mechanism
#' whole numbers are integers and other numbers are doubles, as declared and not as stored: a stored type can tell of a
#' record. A tibble comes back as one, without groups; any other kind of data frame, a data.table say, as a plain one.
#'
#' Values that SPSS's codes say are missing (`haven::labelled_spss`) are missing values where the column is in a
#' formula, declared, or used by `within` or `survey_weights`; a public column that is only carried along keeps them
#' with their codes. A synthesized column has no such codes any more.
#'
#' @section Order of rows:
#' Public columns are released row by row in the order of the data frame, which is published too. One of 20 rows or more
#' that is sorted by a confidential column in use, or nearly so, is refused: shuffle it, or say `sort_rows = TRUE`, and
#' the rows of each table are sorted by their public columns. Any other order that depends on a confidential column (by
#' sex and then by salary) you must see yourself. `made$confidential` keeps the order of the data frame.
#'
#' @param formula `response ~ terms`, a list of such formulas (each column from those before), text of them as Python
#'   writes it (`"y ~ np.sqrt(a)"`), or for `Raked` a named list that declares columns:
#'   `list(sex = list(levels = c("f", "m")), age = list(limits = c(0, 110), whole = TRUE))`.
#' @param data The confidential data frame.
#' @param mechanism A name (see Details), or one [rule][rules] or a list of them.
#' @param epsilon The total budget. Without it epsilon falls out of the weights, as in the paper; strict mechanisms
#'   need it.
#' @param family Of the response, `"negative_binomial"` for example; for several formulas one for each. `Raked` has
#'   none.
#' @param m How many draws of parameters to release. Of all but `Raked` and `Scored`, epsilon adds up over them.
#' @param ... Further options of the Python package's `Synthesizer` and of the mechanism: `public`, `declared`, `delta`,
#'   `limits`, `scale`, `shift`, `radius`, `k`, `seed`, `rows`, `num_draws`, `thresh` and so on; and `sort_rows`, see
#'   below. `sampler` and `prior` go by their names, as on the command line; a number as `prior` is the scale of a
#'   normal one.
#' @return An object of class `alphasynth`: a list with the synthetic `tables` (data frames), the `draws` that they came
#'   from, the public `guarantee` in a sentence, the `formula` as text, and `confidential`, which must not leave:
#'   weights `alpha`, Lipschitz bounds `by_record` and `overall`, the realised epsilon, and draws `theta` of the last
#'   fit's parameters. Strict mechanisms have nothing confidential. The call, the data and the environment of a formula
#'   are not kept.
#' @seealso [as_synds()], [weights_from()], [plot.alphasynth()]
#' @examples
#' if (alphasynth_available()) {
#'   visits <- data.frame(y = rpois(200, 6))
#'   made <- alphasynth(y ~ 1, visits, "Censored", epsilon = 2, family = "poisson",
#'                      limits = list(mean = c(1, 100)))
#'   print(made)
#'   head(as.data.frame(made))
#' }
#' @export
alphasynth <- function(formula, data, mechanism, epsilon = NULL, family = NULL, m = 1, ...) {
  if (missing(formula)) refuse("formula must be given, y ~ 1 for example, found none")
  if (missing(data)) refuse("data must be given, a data frame, found none")
  if (missing(mechanism)) refuse("mechanism must be given, since what is promised depends on it, found none")
  if (!is.data.frame(data)) refuse("data must be a data frame, found ", class(data)[1])
  if (nrow(data) < 2L) refuse("data must hold at least two records, found ", if (nrow(data)) "one" else "none")
  if (is.null(m)) refuse("m must be a whole number of at least 1, found NULL")
  options <- options_of(m = m, epsilon = epsilon, family = family, ...)
  rules <- mechanism_of(mechanism)
  model <- model_of(formula, names(data))
  if (is.null(model$declared) && is.null(family)) refuse("family must be given, \"negative_binomial\" for example")
  declared <- if (is.null(model$declared)) options$declared else model$declared
  used <- unlist(c(model$columns, names(declared), within_of(mechanism), options[c("within", "survey_weights")]))
  made <- ask("synthesize", model$told, table_to_python(data, used, unlist(options$public)), rules, options)
  run_of(made, model, data, declared)
}

options_of <- function(...) {
  options <- list(...)
  if (any(names(options) == "")) refuse("options must have names, found one without")
  options <- lapply(options[!vapply(options, is.null, NA)], plain)
  if (is.list(options$declared)) options$declared <- lapply(options$declared, with_levels)
  options
}

# The run. It holds no call, no formula and no rule, only text of them: a call may hold the data, a formula the
# environment that it was written in, a rule the weights.
run_of <- function(made, model, data, declared) {
  public <- as.character(unlist(made$public))
  told <- made[c("draws", "guarantee", "mechanism", "scope", "epsilon", "delta", "m", "n", "releasable")]
  value <- c(
    list(tables = lapply(made$tables, table_from_python, data, declared, public)), told,
    list(formula = model$text, public = public, confidential = confidential_of(made$confidential, made$n))
  )
  structure(value, class = "alphasynth")
}

# What is to be fitted, as Python takes it, and the columns that it names.
model_of <- function(formula, columns) {
  if (is.list(formula) && !is.null(names(formula))) {
    declared <- lapply(lapply(formula, plain), with_levels)
    return(list(told = declared, columns = names(formula), declared = declared, text = names(formula)))
  }
  several <- is.list(formula) || (is.character(formula) && length(formula) > 1L)
  formulas <- if (several) as.list(unname(formula)) else list(formula)
  if (!length(formulas)) refuse("formula must be one formula or several, found an empty list")
  text <- lapply(formulas, formula_text, columns)
  list(
    told = if (several) text else text[[1L]], columns = unlist(Map(columns_in, text, formulas)), text = unlist(text)
  )
}

# Columns that rules compare records within.
within_of <- function(rules) {
  if (inherits(rules, "alphasynth_rule")) return(c(rules$options$within, within_of(rules$options$match)))
  if (is.list(rules)) unlist(lapply(rules, within_of))
}

# One level is a list of one too.
with_levels <- function(declared) {
  for (name in intersect(c("levels", "heaps"), names(declared))) declared[[name]] <- as.list(declared[[name]])
  declared
}

mechanism_of <- function(mechanism) {
  if (is.character(mechanism) && length(mechanism) == 1L) return(mechanism)
  if (inherits(mechanism, "alphasynth_rule")) mechanism <- list(mechanism)
  if (!is.list(mechanism) || !length(mechanism)) {
    refuse("mechanism must be a name, a rule or a list of rules, found ", class(mechanism)[1])
  }
  unname(lapply(mechanism, rule_to_python))
}

confidential_of <- function(told, n) {
  if (is.null(told)) return(NULL)
  for (name in c("alpha", "by_record")) {
    told[[name]] <- from_bytes(told[[name]])
    if (length(told[[name]]) != n) dim(told[[name]]) <- c(n, length(told[[name]]) %/% n)
  }
  told$theta <- lapply(told$theta, function(one) {
    if (length(one$shape) > 1L) array(from_bytes(one$bytes), one$shape) else from_bytes(one$bytes)
  })
  told
}
