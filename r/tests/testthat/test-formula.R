text <- function(formula, columns = c("y", "a", "b")) alphasynth:::formula_text(formula, columns)

test_that("a formula is spelled as Python reads it", {
  expect_equal(text(y ~ 1), "y ~ 1")
  expect_equal(text(y ~ a + b), "y ~ a + b")
  expect_equal(text(y ~ a * b - a:b), "y ~ a * b - a:b")
  expect_equal(text(y ~ (a + b)^2), "y ~ (a + b) ** 2")
  expect_equal(text(y ~ factor(a) + sqrt(b)), "y ~ C(a) + np.sqrt(b)")
  expect_equal(text(y ~ C(a, levels = c("f", "m"))), "y ~ C(a, levels=[\"f\", \"m\"])")
  expect_equal(text(y ~ I(a^2 %% 3)), "y ~ I((a ** 2) % 3)")
  expect_equal(text(y ~ poly(a, 2, raw = TRUE)), "y ~ poly(a, 2, raw=True)")
  expect_equal(text(y ~ -1 + a), "y ~ -1 + a")
  expect_equal(text(`my y` ~ age.group), "`my y` ~ age.group")
  expect_equal(text(y ~ .), "y ~ (a + b)")
})

test_that("a tree without parentheses keeps its meaning", {
  built <- call("*", call("+", as.name("a"), as.name("b")), as.name("a"))
  expect_equal(text(eval(call("~", as.name("y"), built))), "y ~ (a + b) * a")
  built <- call("-", as.name("a"), call("-", as.name("b"), as.name("a")))
  expect_equal(text(eval(call("~", as.name("y"), built))), "y ~ a - (b - a)")
})

test_that("what is no formula is refused", {
  expect_sentence(text(~ a), "response ~ terms, found no response")
  expect_sentence(text(3), "found numeric")
  expect_sentence(text(y ~ (function(x) x)(a)), "by their names")
})

test_that("TRUE is a number among numbers, and TRUE as an option", {
  expect_equal(text(y ~ I(a == TRUE) + ifelse(b > 1, TRUE, FALSE)), "y ~ I(a == 1) + np.where(b > 1, 1, 0)")
  expect_equal(text(y ~ poly(a, 2, TRUE)), "y ~ poly(a, 2, True)")
  expect_equal(text(y ~ factor(a, levels = c(TRUE, FALSE))), "y ~ C(a, levels=[True, False])")
  expect_equal(text(y ~ I(a == "it's \"\\\n")), "y ~ I(a == \"it's \\\"\\\\\\n\")")
})

test_that("what is not available is said in R's terms", {
  absent <- "is not available in formulas here"
  for (formula in list(y ~ a %in% b, y ~ !a, y ~ I(a & b), y ~ a || b, y ~ d$a, d$y ~ 1, y ~ a[1], y ~ if (a) b)) {
    expect_sentence(text(formula), absent)
  }
  expect_sentence(text(y ~ d$a), "name columns as data has them, y and not d\\$y")
  expect_sentence(text(y ~ stats::poly(a, 2)), "with no package before them")
  expect_sentence(text(y ~ `a\`b`), "must have no backtick in their names")
  expect_sentence(text(y ~ ., "y"), "must stand for columns beside the response, found none")
  expect_sentence(text(y ~ log(.)), "must be a term by itself")
  expect_sentence(text(log(y) ~ a), "one column as it stands before the ~")
  expect_sentence(text(y ~ TRUE), "terms must be columns, calls, 1 or 0, found logical")
  expect_sentence(text(y ~ I(a * NA)), "must be finite")
  expect_sentence(text(y ~ I(a == c(1, 2))), "c\\(\\) in a formula must list constants of an option")
  expect_sentence(text(y ~ log(a, )), "no empty argument")
  values <- c(0.25, 0.125)
  expect_sentence(text(eval(bquote(y ~ I(a * .(values))))), "one number.* each, found numeric of length 2")
  expect_sentence(text(y ~ I(a == 1i)), "found complex of length 1")
})

test_that("a response may be named by a dot", {
  expect_equal(text(. ~ a, c(".", "a")), "`.` ~ a")
  expect_equal(text(. ~ ., c(".", "a", ".5")), "`.` ~ (a + `.5`)")
  expect_sentence(text(. ~ a), "found a dot, which stands for columns behind it only")
})

test_that("a formula names its columns and no others, text too", {
  need_python()
  set.seed(9)
  table <- data.frame(y = rpois(60, 5), a = rpois(60, 3), when = .POSIXct(1:60))
  fit <- function(formula, ...) alphasynth(formula, table, "LW", ..., seed = 1)
  one <- fit(y ~ 1, family = "poisson")
  expect_equal(fit("y ~ 1", family = "poisson"), one)
  both <- fit(list(y ~ 1, a ~ y), family = c("poisson", "poisson"))
  expect_equal(fit(c("y ~ 1", "a ~ y"), family = c("poisson", "poisson")), both)
  expect_equal(fit(list("y ~ 1", a ~ y), family = c("poisson", "poisson")), both)
  expect_sentence(fit("when ~ 1", family = "poisson"), "column 'when' must hold .*found class POSIXct")
  expect_sentence(fit(list(), family = "poisson"), "found an empty list")
  names(table)[1] <- "."
  expect_equal(fit(. ~ 1, family = "poisson")$tables[[1]]$., one$tables[[1]]$y)
  expect_equal(names(as.data.frame(fit("`.` ~ 1", family = "poisson"))), ".")
})

test_that("what the reader says is said of the formula as it was written", {
  need_python()
  fit <- function(formula) alphasynth(formula, counts(), "LW", family = "poisson")
  expect_sentence(fit(y ~ sqrt(y) + foo(y)), "^formula 'y ~ sqrt\\(y\\) \\+ foo\\(y\\)' cannot be read: 'foo' is none")
  expect_sentence(fit("y ~ a ~ b"), "^formula 'y ~ a ~ b' cannot be read: there must be one ~")
  expect_sentence(fit(NA_character_), "must read response ~ terms, found character")
})

test_that("a logical may be compared with TRUE", {
  need_python()
  set.seed(10)
  table <- data.frame(l = rep(c(TRUE, FALSE, FALSE), 30))
  table$y <- rpois(90, ifelse(table$l, 9, 3))
  fit <- function(formula) alphasynth(formula, table, "LW", family = "poisson", public = "l", seed = 1)$tables
  expect_equal(fit(y ~ I(l == TRUE)), fit(y ~ I(l == 1)))
})
