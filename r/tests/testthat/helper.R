# On continuous integration a missing Python side is a failure and not a skip.
need_python <- function() {
  there <- alphasynth_available()
  if (nzchar(Sys.getenv("CI"))) expect_true(there) else testthat::skip_if_not(there, "no Python that has alphasynth")
}

counts <- function(n = 120) {
  set.seed(1)
  data.frame(y = rnbinom(n, size = 12, mu = 20))
}

# One sentence: no newline, no traceback, no call.
expect_sentence <- function(expression, pattern) {
  error <- tryCatch({
    expression
    NULL
  }, alphasynth_error = function(e) e)
  expect_s3_class(error, "alphasynth_error")
  expect_match(conditionMessage(error), pattern)
  expect_false(grepl("\n|Traceback|should not have happened", conditionMessage(error)))
  expect_null(conditionCall(error))
}
