visits <- function(n = 60) {
  set.seed(11)
  data.frame(y = rpois(n, 5))
}

scored <- function(table, public, ...) {
  suppressWarnings(alphasynth(y ~ 1, table, "Scored", epsilon = 2, family = "poisson", public = public, ...))
}

test_that("codes that SPSS takes for missing are missing where a column is used", {
  need_python()
  skip_if_not_installed("haven")
  table <- visits()
  table$y[1:3] <- c(99L, 98L, 97L)
  table$y <- haven::labelled_spss(table$y, c(refused = 99L), na_values = 99L, na_range = c(97, 98))
  expect_sentence(alphasynth(y ~ 1, table, "LW", family = "poisson"), "must have no missing values, found 3")
  table$asked <- haven::labelled_spss(rep(c(1, 2, 9), 20), c(no = 2), na_values = 9)
  table$word <- haven::labelled_spss(rep(c("a", "b", "?"), 20), na_values = "?")
  table$y <- visits()$y
  for (name in c("asked", "word")) {
    formula <- eval(call("~", quote(y), as.name(name)))
    used <- quote(alphasynth(formula, table, "LW", family = "poisson", public = name))
    expect_sentence(eval(used), "must have no missing values, found 20")
  }
  expect_sentence(
    alphasynth(y ~ 1, table, "LW", family = "poisson", public = "asked", survey_weights = "asked"), "missing values"
  )
  expect_sentence(alphasynth(y ~ 1, table, CW(1, within = "word"), family = "poisson"), "missing values")
  # A public column that is only carried along keeps them.
  back <- as.data.frame(scored(table, c("asked", "word")))
  expect_true(identical(back$asked, table$asked))
  expect_true(identical(back$word, table$word))
  # To synthpop they are missing, as in haven::zap_labels() of the original.
  given <- as_synds(scored(table, c("asked", "word")))$syn
  expect_identical(given$asked, as.vector(haven::zap_labels(table$asked)))
  expect_identical(levels(given$word), c("a", "b"))
})

test_that("codes are read whether haven is loaded or not", {
  x <- structure(c(1, 9, NA, 7), na_values = 9, na_range = c(6, 8), class = c("haven_labelled_spss", "haven_labelled"))
  expect_identical(alphasynth:::user_missing(x), c(FALSE, TRUE, FALSE, TRUE))
  expect_false(alphasynth:::user_missing(1:3))
})

test_that("a synthesized column has no codes for missing values", {
  need_python()
  skip_if_not_installed("haven")
  set.seed(12)
  table <- data.frame(pay = rpois(80, 5))
  table$pay[1:20] <- 9L
  table$pay <- haven::labelled_spss(table$pay, c(none = 0L), na_values = 9L, label = "Pay")
  declared <- list(pay = list(limits = c(0, 40), whole = TRUE, missing = "model"))
  back <- as.data.frame(alphasynth(declared, table, "Raked", epsilon = 8, delta = 1e-6))$pay
  expect_identical(class(back), class(haven::labelled(1L)))
  expect_null(attr(back, "na_values"))
  expect_identical(attributes(back)[c("label", "labels")], list(label = "Pay", labels = c(none = 0L)))
  # A fifth of the values and more were missing; without codes they would be 9s.
  expect_gt(sum(is.na(back)), 5)
})

test_that("labelled integers that come back as doubles stay doubles", {
  need_python()
  skip_if_not_installed("haven")
  set.seed(13)
  table <- data.frame(pay = haven::labelled(sample(1:9, 200, TRUE), c(low = 1L), "Pay"))
  declared <- list(pay = list(limits = c(0, 10)))
  back <- as.data.frame(alphasynth(declared, table, "Raked", epsilon = 8, delta = 1e-6))$pay
  expect_type(back, "double")
  expect_true(any(as.vector(back) != round(as.vector(back))))
  expect_identical(class(back), class(haven::labelled(1)))
  expect_identical(attr(back, "labels"), c(low = 1))
  expect_no_error(format(back))
})

test_that("labels of columns stay, of public and of synthesized ones", {
  need_python()
  table <- visits()
  table$a <- structure(rnorm(60), label = "A number")
  table$g <- structure(factor(rep(c("m", "f"), 30)), label = "A group")
  attr(table$y, "label") <- "Visits"
  made <- scored(table, c("a", "g"), m = 2)
  labels <- list(y = "Visits", a = "A number", g = "A group")
  expect_identical(lapply(as.data.frame(made), attr, "label"), labels)
  expect_identical(lapply(as.data.frame(made, table = "all")[names(labels)], attr, "label"), labels)
  expect_true(all(vapply(as_synds(made)$syn[[1]], function(x) is.null(attr(x, "label")), NA)))
})

test_that("a tibble is a tibble again, and synthpop's a data frame", {
  need_python()
  table <- visits()
  class(table) <- c("tbl_df", "tbl", "data.frame")
  made <- alphasynth(y ~ 1, table, "LW", family = "poisson", m = 2)
  expect_identical(class(as.data.frame(made)), class(table))
  expect_identical(dim(as.data.frame(made, table = "all")), c(120L, 2L))
  expect_identical(class(as.data.frame(made, table = "all")), class(table))
  expect_identical(class(as_synds(made)$syn[[1]]), "data.frame")
  class(table) <- c("data.table", "data.frame")
  expect_identical(class(as.data.frame(alphasynth(y ~ 1, table, "LW", family = "poisson"))), "data.frame")
})
