#' Synthetic tables as data frames
#'
#' @param x What [alphasynth()] gave.
#' @param row.names,optional Not used.
#' @param table Number of the table, or `"all"`: the tables below each other, with their number in the column `.table`.
#' @param ... Not used.
#' @return A data frame.
#' @export
as.data.frame.alphasynth <- function(x, row.names = NULL, optional = FALSE, table = 1L, ...) {
  if (identical(table, "all")) {
    if (".table" %in% names(x$tables[[1L]])) {
      refuse("columns must not be named .table where tables are stacked, found one; take x$tables instead")
    }
    numbers <- rep(seq_along(x$tables), vapply(x$tables, nrow, 1L))
    columns <- c(list(.table = numbers), as.list(stacked(x$tables)))
    return(structure(columns, class = class(x$tables[[1L]]), row.names = .set_row_names(length(numbers))))
  }
  if (!is.numeric(table) || length(table) != 1L || !table %in% seq_along(x$tables)) {
    found <- paste(format(table), collapse = ", ")
    refuse("table must be \"all\" or a number up to ", length(x$tables), ", found ", found)
  }
  x$tables[[table]]
}

# Tables below each other, with the labels of their columns, which rbind() may drop.
stacked <- function(tables) {
  whole <- do.call(rbind, tables)
  for (name in names(whole)) attr(whole[[name]], "label") <- attr(tables[[1L]][[name]], "label", exact = TRUE)
  whole
}

#' What of a run may leave
#'
#' The run without its confidential part, to be saved or passed on. It holds the synthetic tables and public text, and
#' nothing of the call that made it: no data, no rule, no formula with its environment. Whether it
#' should leave is for you to say: by the promise, which `print` shows.
#'
#' @param x What [alphasynth()] gave.
#' @return The same with nothing under `confidential`. A run with a `seed`, which others could repeat, is refused.
#' @export
release <- function(x) {
  if (!inherits(x, "alphasynth")) refuse("x must come from alphasynth(), found ", class(x)[1])
  if (!x$releasable) refuse("a run must have no seed to be released, since who guesses it can repeat it, found one")
  x["confidential"] <- list(NULL)
  x
}

#' @export
print.alphasynth <- function(x, ...) {
  rows <- nrow(x$tables[[1L]])
  cat(count(length(x$tables), "synthetic table"), " of ", count(rows, "row"), ": ",
      paste(names(x$tables[[1L]]), collapse = ", "), "\n", sep = "")
  cat(strwrap(x$guarantee), sep = "\n")
  invisible(x)
}

#' What a run gave, the confidential part too
#'
#' @param object What [alphasynth()] gave.
#' @param ... Not used.
#' @return An object of class `summary.alphasynth`: the run, with a summary of each synthetic column over all tables,
#'   and of weights and bounds where there are any.
#' @export
summary.alphasynth <- function(object, ...) {
  kept <- object$confidential
  weights <- if (!is.null(kept)) rbind(alpha = stats::quantile(kept$alpha), bound = stats::quantile(kept$by_record))
  columns <- summary(stacked(object$tables))
  structure(list(run = object, columns = columns, weights = weights), class = "summary.alphasynth")
}

#' @export
print.summary.alphasynth <- function(x, ...) {
  print(x$run)
  cat("\nSynthetic columns, over all tables:\n")
  print(x$columns)
  kept <- x$run$confidential
  if (!is.null(kept)) {
    cat("\nConfidential, not to be published:\n")
    cat(strwrap(kept$guarantee), sep = "\n")
    cat("Weights and Lipschitz bounds of ", count(x$run$n, "record"), ":\n", sep = "")
    print(x$weights, digits = 4L)
  }
  invisible(x)
}
