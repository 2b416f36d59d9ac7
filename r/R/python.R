# The Python side: started when it is first needed, and asked by one verb at a time.

state <- new.env(parent = emptyenv())

#' Is the Python side there?
#'
#' The interpreter is the one that `options(alphasynth.python = )` names, else the one that the environment variable
#' `RETICULATE_PYTHON` names, else the one that reticulate finds.
#'
#' @return `TRUE` where a Python that has alphasynth could be started, else `FALSE`.
#' @examples
#' alphasynth_available()
#' @export
alphasynth_available <- function() {
  tryCatch({
    bridge()
    TRUE
  }, alphasynth_error = function(e) FALSE)
}

# The bridge's one function.
bridge <- function() {
  if (is.null(state$call)) {
    start_python()
    state$call <- tryCatch(
      reticulate::import_from_path("alphasynth_bridge", system.file("python", package = "alphasynth"))$call,
      error = function(e) {
        refuse("the Python package alphasynth cannot be loaded in ", reticulate::py_config()$python,
               ", since it, or what it needs, is missing there or of another version; ", where_to_say())
      }
    )
  }
  state$call
}

start_python <- function() {
  told <- getOption("alphasynth.python")
  started <- tryCatch({
    if (!is.null(told)) reticulate::use_python(told, required = TRUE)
    reticulate::py_available(initialize = TRUE)
  }, error = function(e) FALSE)
  if (!started) refuse("Python could not be started; ", where_to_say())
  if (!reticulate::py_module_available("alphasynth")) {
    refuse("the Python package alphasynth is not installed in ", reticulate::py_config()$python, "; ", where_to_say())
  }
}

where_to_say <- function() {
  "name an interpreter that has it by options(alphasynth.python = ) or RETICULATE_PYTHON, in a new R session"
}

# Stop with one sentence, as a condition of this class beside alphasynth_error.
refuse <- function(..., class = "alphasynth_input_error") {
  stop(structure(list(message = paste0(...), call = NULL), class = c(class, "alphasynth_error", "error", "condition")))
}

# The answer of the Python side; its errors and warnings become ours, with the sentence alone. An interrupt is Python's
# to notice, which hands it on: where R jumps out of a call first, reticulate calls it an error, or ends R.
ask <- function(verb, ...) {
  call <- bridge()
  list(...)  # what is computed in R can be interrupted there
  answer <- suspendInterrupts(call(verb, ...))
  for (said in answer$warnings) warning(in_words_of_r(said), call. = FALSE)
  if (!is.null(answer$error)) refuse(in_words_of_r(answer$error), class = error_class(answer$kind))
  answer$value
}

# What the Python side says, with R's names for what it names: options of the command line, and Python's constants.
in_words_of_r <- function(text) {
  pairs <- c(
    "(sort_rows, --sort-rows)" = "(sort_rows = TRUE)", " (--records-in columns)" = "", " (--records-in rows)" = "",
    " (--densities)" = "", "densities=True" = "densities = TRUE", " (--weighted)" = "",
    "weighted=True" = "weighted = TRUE", "levels=[...]" = "levels = c(...)",
    "a dict" = "a named list"
  )
  for (each in names(pairs)) text <- gsub(each, pairs[[each]], text, fixed = TRUE)
  text <- gsub("limits in model.toml, or --range [^ ]+=LOW:HIGH", "limits in declared = ", text)
  text <- gsub("\\(--([a-z]+)\\)", "(\\1 = )", text)
  while (grepl("--[a-z_]+-[a-z]", text)) text <- gsub("(--[a-z_]+)-([a-z])", "\\1_\\2", text)
  text <- gsub("--([a-z])", "\\1", text)
  # But not where it is part of a file's name or stands in quotes.
  text <- gsub("(?<![\\w'./-])log_lik(?![\\w'-]|\\.\\w)", "loglik", text, perl = TRUE)
  for (each in c("True", "False")) text <- gsub(paste0(" ", each, "\\b"), paste0(" ", toupper(each)), text)
  gsub("found None\\b", "found NULL", text)
}

error_class <- function(kind) {
  known <- c(
    InputError = "alphasynth_input_error", DiagnosticsError = "alphasynth_diagnostics_error",
    CalibrationError = "alphasynth_calibration_error"
  )
  if (kind %in% names(known)) known[[kind]] else "alphasynth_internal_error"
}

# Numbers as Python reads them, and back.
to_bytes <- function(x) writeBin(as.double(x), raw())

from_bytes <- function(bytes) readBin(bytes, "double", length(bytes) %/% 8L)

# Options as Python takes them: named vectors become dictionaries, as named lists do.
plain <- function(x) {
  if (is.null(x) || is.raw(x)) return(x)
  if (inherits(x, "Date")) return(if (length(x) == 1L) format(x) else as.list(format(x)))
  if (is.factor(x)) x <- as.character(x)
  if (!is.atomic(x) && !is.list(x)) {
    refuse("options must be numbers, text, logicals or lists of these, found ", class(x)[1])
  }
  if (is.list(x) || !is.null(names(x))) return(lapply(as.list(x), plain))
  if (is.character(x)) {
    if (!is_sound(x)) refuse("options must be text in a known encoding, found some that is not")
    x <- enc2utf8(x)
  }
  if (anyNA(x)) refuse("options must not be NA, found one")
  x
}
