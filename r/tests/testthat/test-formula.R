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
