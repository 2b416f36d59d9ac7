#' A run as synthpop's object
#'
#' Gives an object of class `synds`, as `synthpop::syn` does, so that functions of the package synthpop that compare
#' synthetic data with the original take it: `compare`, `utility.gen`, `utility.tab`, `glm.synds`. synthpop is not
#' needed for this.
#'
#' Public columns count as not synthesized, and text becomes factors, as `synthpop::syn` does with it. Fields that
#' describe how synthpop synthesizes are there where these functions read them and say what was done here in a word.
#' synthpop compares numbers, factors and logicals, not Dates: name the others in `vars`. Of a table with one column
#' `utility.gen` wants its name in `vars` too. Labels are dropped, since synthpop cannot handle haven's: give it
#' `haven::zap_labels()` of the original. What SPSS's codes say is missing is `NA` in both.
#'
#' @param x What [alphasynth()] gave.
#' @param data The original, or nothing. With it factors have the original's levels, in its order, before any others,
#'   which `compare` needs: it sets percentages beside each other by position. The object is then confidential.
#' @return A list of class `synds`.
#' @examples
#' if (alphasynth_available()) {
#'   visits <- data.frame(y = rpois(200, 6))
#'   made <- alphasynth(y ~ 1, visits, "Censored", epsilon = 2, family = "poisson",
#'                      limits = list(mean = c(1, 100)))
#'   str(as_synds(made), max.level = 1)
#'   # library(synthpop); compare(as_synds(made, visits), visits)
#' }
#' @export
as_synds <- function(x, data = NULL) {
  if (!inherits(x, "alphasynth")) refuse("x must come from alphasynth(), found ", class(x)[1])
  if (!is.null(data) && !is.data.frame(data)) refuse("data must be a data frame, found ", class(data)[1])
  tables <- lapply(x$tables, function(table) {
    class(table) <- "data.frame"
    labelled <- vapply(table, inherits, NA, "haven_labelled")
    table[labelled] <- lapply(table[labelled], function(one) replace(as.vector(one), user_missing(one), NA))
    labels <- names(table)[vapply(table, function(one) is.character(one) || is.factor(one), NA)]
    table[labels] <- lapply(labels, function(name) beside(table[[name]], data[[name]], occurring(x$tables, name)))
    without_labels(table)
  })
  first <- tables[[1L]]
  m <- length(tables)
  columns <- names(first)
  method <- ifelse(columns %in% x$public, "", x$mechanism)
  # What is not synthesized comes first: the rest was made from it.
  visited <- order(method != "")
  value <- list(
    # Its functions print the call: this one is made of text, and holds no data.
    call = call("alphasynth", formula = x$formula, mechanism = x$mechanism), m = m,
    syn = if (m == 1L) first else tables, method = stats::setNames(method, columns),
    visit.sequence = stats::setNames(visited, columns[visited]), n = x$n, k = nrow(first), proper = TRUE,
    cont.na = stats::setNames(rep(list(NA), length(columns)), columns), strata.syn = NULL, obs.vars = columns,
    # Of a synthpop run the seed is a number; of one that may be released there is none.
    seed = if (x$releasable) NA else "set", rules = stats::setNames(rep(list(""), length(columns)), columns)
  )
  structure(value, class = "synds")
}

without_labels <- function(table) {
  for (name in names(table)) attr(table[[name]], "label") <- NULL
  table
}

# A factor whose levels stand as the original's do. Of others those stay that occur: synthpop refuses tables of unlike size.
beside <- function(made, original, found) {
  others <- if (is.null(original)) levels_in(made) else intersect(levels_in(made), found)
  factor(made, union(levels_in(original), others), ordered = is.ordered(made))
}

occurring <- function(tables, name) unique(unlist(lapply(tables, function(table) as.character(table[[name]]))))
