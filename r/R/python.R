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

bridge <- function() {
  if (is.null(state$bridge)) {
    told <- getOption("alphasynth.python")
    started <- tryCatch({
      if (!is.null(told)) reticulate::use_python(told, required = TRUE)
      reticulate::py_available(initialize = TRUE)
    }, error = function(e) FALSE)
    if (!started) {
      refuse("Python could not be started; ", where_to_say())
    }
    if (!reticulate::py_module_available("alphasynth")) {
      refuse("the Python package alphasynth is not installed in ", reticulate::py_config()$python, "; ", where_to_say())
    }
    folder <- system.file("python", package = "alphasynth")
    state$bridge <- tryCatch(
      reticulate::import_from_path("alphasynth_bridge", folder),
      error = function(e) {
        refuse("the Python package alphasynth cannot be loaded in ", reticulate::py_config()$python,
               ", since it, or what it needs, is missing there or of another version; ", where_to_say())
      }
    )
  }
  state$bridge
}

where_to_say <- function() {
  "name an interpreter that has it by options(alphasynth.python = ) or RETICULATE_PYTHON, in a new R session"
}

# Stop with one sentence, as a condition of this class beside alphasynth_error.
refuse <- function(..., class = "alphasynth_input_error") {
  stop(structure(list(message = paste0(...), call = NULL), class = c(class, "alphasynth_error", "error", "condition")))
}

# The answer of the Python side; its errors and warnings become ours, with the sentence alone.
ask <- function(verb, ...) {
  answer <- bridge()$call(verb, ...)
  for (said in answer$warnings) warning(said, call. = FALSE)
  if (!is.null(answer$error)) refuse(answer$error, class = error_class(answer$kind))
  answer$value
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
  if (is.character(x)) x <- enc2utf8(x)
  if (anyNA(x)) refuse("options must not be NA, found one")
  x
}
