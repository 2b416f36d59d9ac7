people <- function() {
  set.seed(8)
  table <- data.frame(a = round(rnorm(60), 2), group = factor(rep(c("x", "y", "z"), 20)), y = rpois(60, 6))
  table$y[1:2] <- c(9L, 2L)
  table
}

fit <- function(table, ...) {
  alphasynth(y ~ a, table, "Scored", epsilon = 2, family = "poisson", public = "a", ...)
}

test_that("rows in the order of a confidential column are refused", {
  need_python()
  table <- people()
  sorted <- table[order(table$y), ]
  expect_sentence(fit(sorted), "sorted, or nearly so, by 'y'.*shuffle the table.*\\(sort_rows = TRUE\\)$")
  expect_sentence(fit(sorted[60:1, ]), "sorted, or nearly so")
  expect_s3_class(suppressWarnings(fit(table)), "alphasynth")
  # Nothing is released in their order, so it tells nothing.
  expect_s3_class(alphasynth(y ~ 1, sorted["y"], "LW", family = "poisson"), "alphasynth")
})

test_that("a factor is sorted as its levels are", {
  need_python()
  table <- data.frame(a = people()$a, size = factor(rep(c("small", "large"), each = 30), c("small", "large")))
  logit <- function(table) alphasynth(size ~ 1, table, "LW", family = "bernoulli", public = "a")
  expect_sentence(logit(table), "sorted, or nearly so, by 'size'")
  expect_s3_class(logit(table[order(table$a), ]), "alphasynth")
})

test_that("sort_rows releases rows in the order of their public columns, and weights in that of the data", {
  need_python()
  table <- people()
  sorted <- table[order(table$y), ]
  made <- suppressWarnings(fit(sorted, sort_rows = TRUE, m = 2))
  for (back in made$tables) expect_identical(back$a, sort(table$a))
  two <- function(...) alphasynth(y ~ a, table, "LW", family = "poisson", public = c("group", "a"), seed = 1, ...)
  plain <- two()
  ordered <- two(sort_rows = TRUE)
  expect_identical(ordered$confidential, plain$confidential)
  before <- as.data.frame(plain)
  expect_equal(as.data.frame(ordered), before[order(before$group, before$a), ], ignore_attr = "row.names")
  expect_sentence(fit(table, sort_rows = "yes"), "sort_rows must be TRUE or FALSE, found 'yes'")
})
