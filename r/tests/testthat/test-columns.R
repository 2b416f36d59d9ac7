test_that("types without a counterpart are refused where they are used, and left out elsewhere", {
  table <- data.frame(y = 1:2, when = as.POSIXct(c(0, 1), origin = "1970-01-01"))
  expect_sentence(alphasynth:::table_to_python(table, "when"), "column 'when' must hold numbers, .*found class POSIXct")
  expect_length(alphasynth:::table_to_python(table, "y"), 1)
  table <- data.frame(f = addNA(factor(c("a", NA))))
  expect_sentence(alphasynth:::table_to_python(table, "f"), "must not have NA among its levels")
})

test_that("every type goes over and comes back as it was", {
  need_python()
  set.seed(2)
  n <- 60
  table <- data.frame(
    visits = rpois(n, 4), number = c(NA, rnorm(n - 1)), whole = c(NA, seq_len(n - 1)),
    yes = c(NA, rep(c(TRUE, FALSE), length.out = n - 1)),
    text = rep(c("Z\u00fcrich", "K\u00f6ln", NA), length.out = n), day = as.Date("2024-02-28") + c(NA, seq_len(n - 1)),
    group = factor(rep(c("m", "f", NA), length.out = n), c("m", "f")),
    grade = factor(rep(c("low", "high"), length.out = n), c("low", "high"), ordered = TRUE)
  )
  if (requireNamespace("haven", quietly = TRUE)) {
    table$asked <- haven::labelled(rep(c(1, 2, NA), length.out = n), c(yes = 1, no = 2), "A question")
  }
  names(table)[2] <- "odd name"
  public <- setdiff(names(table), "visits")
  made <- alphasynth(visits ~ 1, table, "Scored", epsilon = 1, family = "poisson", public = public)
  back <- as.data.frame(made)
  # Not expect_identical(), to which NaN is NA.
  expect_true(identical(back[public], table[public]))
  expect_false(any(vapply(back, function(x) is.double(x) && any(is.nan(x)), NA)))
  expect_type(back$visits, "integer")
  expect_equal(dim(back), dim(table))
  expect_equal(names(back), names(table))
})

test_that("synthesized columns of a whole table have the original's types", {
  need_python()
  set.seed(3)
  n <- 200
  table <- data.frame(
    sex = factor(sample(c("m", "f"), n, TRUE), c("m", "f", "other")), town = sample(c("A", "B"), n, TRUE),
    works = sample(c(TRUE, FALSE, NA), n, TRUE), day = as.Date("2024-01-01") + sample(0:300, n, TRUE),
    pay = c(NA, round(rexp(n - 1, 1 / 1000), 2)), visits = rpois(n, 3)
  )
  declared <- list(
    sex = list(levels = c("f", "m", "other")), town = list(levels = c("A", "B")),
    works = list(levels = c(FALSE, TRUE), missing = "model"),
    day = list(limits = as.Date(c("2024-01-01", "2024-12-31"))),
    pay = list(limits = c(0, 20000), skewed = TRUE, missing = "model"),
    visits = list(limits = c(0, 50), whole = TRUE)
  )
  made <- alphasynth(declared, table, "Raked", epsilon = 8, delta = 1e-6, m = 2)
  expect_length(made$tables, 2)
  for (back in made$tables) {
    expect_equal(vapply(back, function(x) class(x)[1], ""), vapply(table, function(x) class(x)[1], ""))
    # What is declared decides, not what the table holds.
    expect_equal(levels(back$sex), c("f", "m", "other"))
    expect_true(anyNA(back$works))
    expect_true(all(back$day >= as.Date("2024-01-01") & back$day <= as.Date("2024-12-31")))
  }
  expect_null(made$confidential)
  expect_equal(made$scope, "strict")
})

test_that("whole numbers beyond 32 bits are doubles", {
  made <- list(kind = "double", bytes = alphasynth:::to_bytes(c(2^40, NA)), levels = NULL)
  expect_identical(alphasynth:::from_python(made, 1L, NULL), c(2^40, NA))
})

test_that("missing numbers are NA, and a NaN becomes one", {
  need_python()
  set.seed(14)
  table <- data.frame(y = rpois(40, 5), x = rnorm(40), big = c(NA, rep(2^40, 39)))
  table$x[1:2] <- c(NA, NaN)
  back <- as.data.frame(alphasynth(y ~ 1, table, "LW", family = "poisson", public = c("x", "big")))
  expect_true(identical(back$x, replace(table$x, 2, NA)))
  expect_true(identical(back$big, table$big))
})

test_that("text that is not what its encoding says is refused, not changed", {
  bytes <- "\xfc"
  Encoding(bytes) <- "bytes"
  wrong <- "\xfc"
  Encoding(wrong) <- "UTF-8"
  for (text in c(bytes, wrong)) {
    table <- data.frame(y = 1:2)
    table$text <- c("a", text)
    expect_sentence(alphasynth:::table_to_python(table, "y", "text"), "column 'text' must hold text.*known encoding")
    expect_length(alphasynth:::table_to_python(table, "y"), 1)
    table$text <- structure(1:2, levels = c("a", text), class = "factor")
    expect_sentence(alphasynth:::table_to_python(table, "text"), "known encoding")
    expect_sentence(alphasynth:::plain(text), "options must be text in a known encoding")
    expect_sentence(alphasynth:::formula_text(text, "y"), "formula must be text in a known encoding")
  }
  latin <- "Z\xfcrich"
  Encoding(latin) <- "latin1"
  expect_identical(alphasynth:::to_python(latin, "town")$levels, list("Z\u00fcrich"))
})

test_that("an infinite Date is refused", {
  table <- data.frame(y = 1:2, day = as.Date(c(0, Inf), origin = "1970-01-01"))
  expect_sentence(alphasynth:::table_to_python(table, "day"), "column 'day' must hold finite Dates, found one that")
  expect_silent(alphasynth:::table_to_python(table, "y"))
})

test_that("columns that a rule compares within are in use", {
  need_python()
  table <- data.frame(y = rpois(30, 4), when = .POSIXct(1:30))
  for (rule in list(CW(1, within = "when"), SW(match = CW(1, within = "when")), list(CW(1, within = "when")))) {
    expect_sentence(alphasynth(y ~ 1, table, rule, family = "poisson"), "column 'when' must hold .*found class POSIXct")
  }
})
