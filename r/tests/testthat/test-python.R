# What a fresh R session says to this code.
said_by <- function(code, environment = character()) {
  environment <- c(environment, paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep)))
  program <- file.path(R.home("bin"), "Rscript")
  code <- paste("library(alphasynth)", code, sep = "; ")
  said <- system2(program, c("-e", shQuote(code)), stdout = TRUE, stderr = TRUE, env = environment, timeout = 240)
  paste(said, collapse = " ")
}

test_that("a Python that is not there is one sentence", {
  code <- "cat(alphasynth_available(), ''); weights_from(matrix(-1, 2, 2))"
  said <- suppressWarnings(said_by(code, "RETICULATE_PYTHON=/nowhere/python"))
  expect_match(said, "FALSE *Error: Python could not be started; name an interpreter")
})

test_that("numbers and options go over as they are", {
  expect_identical(alphasynth:::from_bytes(alphasynth:::to_bytes(c(1.5, NA, -Inf))), c(1.5, NA, -Inf))
  expect_equal(alphasynth:::plain(c(a = 1, b = 2)), list(a = 1, b = 2))
  expect_equal(alphasynth:::plain(as.Date(c("2024-01-01", "2024-02-01"))), list("2024-01-01", "2024-02-01"))
  expect_equal(alphasynth:::plain(factor("x")), "x")
})

test_that("an interrupt is one, whoever notices it", {
  need_python()
  skip_on_os("windows")
  code <- "
    fit <- function() alphasynth(y ~ 1, data.frame(y = rep(3:9, 99)), 'LW_final', family = 'negative_binomial')
    invisible(fit())
    for (i in 1:15) {
      system(sprintf('(sleep %.2f; kill -INT %d) &', 0.1 + i / 40, Sys.getpid()))
      tryCatch(for (j in 1:300) fit(), interrupt = function(e) cat('interrupted '))
    }
    cat('and fitted again:', nrow(as.data.frame(fit())))"
  expect_match(said_by(code), "^(interrupted ){15}and fitted again: 693$")
})
