# Whether the bytes that saveRDS would write hold this text, or this number.
holds <- function(object, wanted) {
  wanted <- if (is.character(wanted)) charToRaw(wanted) else writeBin(wanted, raw(), endian = "big")
  length(grepRaw(wanted, serialize(object, NULL), fixed = TRUE)) > 0
}

secrets <- function() {
  table <- counts()
  table$id <- paste0("SECRET-", seq_len(nrow(table)))
  attr(table$y, "note") <- "SECRET-note"
  attr(table, "note") <- "SECRET-note"
  table
}

expect_nothing_secret <- function(made) {
  free <- release(made)
  expect_false(holds(free, "SECRET"))
  expect_false(holds(as_synds(free), "SECRET"))
  expect_false(holds(summary(free), "SECRET"))
}

test_that("a search of the bytes finds what is there", {
  expect_true(holds(list(secrets()), "SECRET"))
  expect_true(holds(list(a = c(1, 0.123456789)), 0.123456789))
  expect_false(holds(list(a = 1), 0.123456789))
})

test_that("what leaves holds no data, even where the call held them", {
  need_python()
  expect_nothing_secret(do.call(alphasynth, list(y ~ 1, secrets(), "LW", family = "poisson")))
  table <- secrets()
  table$group <- structure(rep(1:2, 60), note = "SECRET-note")
  limits <- list(mean = c(1, 100))
  expect_nothing_secret(do.call(alphasynth, list(y ~ 1, table, "Censored", 2, "poisson", limits = limits)))
  expect_nothing_secret(do.call(alphasynth, list(y ~ 1, table, "LW", NULL, "poisson", public = "group")))
})

test_that("what leaves holds no environment of a formula", {
  need_python()
  fit <- function() {
    hidden <- "SECRET-local"
    alphasynth(y ~ 1, counts(), "LW", family = "poisson")
  }
  expect_nothing_secret(fit())
  several <- function() {
    hidden <- "SECRET-local"
    do.call(alphasynth, list(list(y ~ 1), counts(), "LW", family = "poisson"))
  }
  made <- several()
  expect_nothing_secret(made)
  expect_identical(made$formula, "y ~ 1")
})

test_that("what leaves holds no weights", {
  need_python()
  weights <- c(0.123456789, rep(c(0.5, 0.75), length.out = 119))
  made <- do.call(alphasynth, list(y ~ 1, counts(), Given(weights), family = "poisson"))
  expect_true(holds(made, 0.123456789))
  expect_false(holds(release(made), 0.123456789))
  expect_false(holds(as_synds(made), 0.123456789))
})

test_that("haven's labels stay, other attributes of such a column do not", {
  need_python()
  skip_if_not_installed("haven")
  table <- counts()
  table$y <- haven::labelled(table$y, c(none = 0L), "Visits")
  attr(table$y, "note") <- "SECRET-note"
  made <- alphasynth(y ~ 1, table, "LW", family = "poisson")
  expect_nothing_secret(made)
  expect_identical(attr(as.data.frame(made)$y, "label"), "Visits")
})

test_that("synthpop's call is made of names and text", {
  need_python()
  given <- as_synds(alphasynth(y ~ 1, counts(), "LW", family = "poisson"))
  expect_identical(given$call, quote(alphasynth(formula = "y ~ 1", mechanism = "LW")))
})
