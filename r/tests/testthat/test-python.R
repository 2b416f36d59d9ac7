# What a fresh R session says that has this interpreter.
said_with <- function(python) {
  libraries <- paste(.libPaths(), collapse = .Platform$path.sep)
  environment <- c(paste0("RETICULATE_PYTHON=", python), paste0("R_LIBS=", libraries))
  code <- "library(alphasynth); cat(alphasynth_available(), ''); weights_from(matrix(-1, 2, 2))"
  program <- file.path(R.home("bin"), "Rscript")
  suppressWarnings(system2(program, c("-e", shQuote(code)), stdout = TRUE, stderr = TRUE, env = environment))
}

test_that("a Python that is not there is one sentence", {
  said <- paste(said_with("/nowhere/python"), collapse = " ")
  expect_match(said, "FALSE *Error: Python could not be started; name an interpreter")
})

test_that("numbers and options go over as they are", {
  expect_identical(alphasynth:::from_bytes(alphasynth:::to_bytes(c(1.5, NA, -Inf))), c(1.5, NA, -Inf))
  expect_equal(alphasynth:::plain(c(a = 1, b = 2)), list(a = 1, b = 2))
  expect_equal(alphasynth:::plain(as.Date(c("2024-01-01", "2024-02-01"))), list("2024-01-01", "2024-02-01"))
  expect_equal(alphasynth:::plain(factor("x")), "x")
})
