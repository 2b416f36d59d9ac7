test_that("a run can be printed, summarised, drawn and turned into data frames", {
  need_python()
  table <- counts()
  made <- alphasynth(y ~ 1, table, "LW_final", family = "negative_binomial", m = 2, k = 0.95, seed = 1)
  expect_s3_class(made, "alphasynth")
  expect_equal(made$draws, 1:2)
  expect_length(made$confidential$alpha, 120)
  expect_equal(max(made$confidential$by_record), made$confidential$overall)
  expect_equal(made$confidential$epsilon_total, 2 * made$confidential$epsilon_per_draw)
  expect_length(made$confidential$theta$phi, made$confidential$num_draws)
  expect_equal(dim(as.data.frame(made, table = "all")), c(240L, 2L))
  expect_sentence(as.data.frame(made, table = 3), "number up to 2, found 3")
  expect_output(print(made), "2 synthetic tables of 120 rows: y.*not.*differential privacy.*seed was fixed")
  expect_output(print(summary(made)), "Confidential, not to be published.*epsilon")
  # Nothing that print shows holds the realised epsilon, which is confidential.
  realised <- format(made$confidential$epsilon_per_draw, digits = 4)
  expect_false(any(grepl(realised, capture.output(print(made)), fixed = TRUE)))
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  plot(made)
  plot(made, "columns", data = table)
  grDevices::dev.off()
  expect_gt(file.size(file), 2000)
  again <- alphasynth(y ~ 1, table, list(LW(), Reweight(0.95)), family = "negative_binomial", m = 2, seed = 1)
  expect_equal(again$confidential$alpha, made$confidential$alpha)
  expect_equal(again$tables, made$tables)
})

test_that("what leaves has nothing confidential", {
  need_python()
  made <- alphasynth(y ~ 1, counts(), "LW", family = "negative_binomial")
  free <- release(made)
  expect_null(free$confidential)
  expect_equal(free$tables, made$tables)
  told <- unlist(lapply(unclass(free)[names(free) != "tables"], function(one) as.character(unlist(one))))
  expect_false(any(grepl(format(made$confidential$epsilon_per_draw, digits = 4), told, fixed = TRUE)))
  expect_output(print(summary(free)), "Synthetic columns")
  expect_sentence(release(alphasynth(y ~ 1, counts(), "LW", family = "poisson", seed = 1)), "must have no seed")
  expect_sentence(release(3), "must come from alphasynth")
})

test_that("SW matches another rule's bound", {
  need_python()
  fit <- function(rule) alphasynth(y ~ 1, counts(), rule, family = "negative_binomial", seed = 1)$confidential
  wanted <- fit(CW(5))$overall
  found <- fit(SW(match = CW(5)))
  expect_lte(found$overall, wanted)
  # A search ends within 0.2 % of its target.
  expect_gt(found$overall, 0.99 * wanted)
  expect_length(unique(found$alpha), 1)
  expect_output(print(SW(match = CW(5))), "match = CW")
})

test_that("a strict run has nothing confidential, and may be released", {
  need_python()
  made <- alphasynth(y ~ 1, counts(), "Censored", epsilon = 2, family = "negative_binomial",
                     limits = list(mean = c(1, 100), phi = c(1, 50)))
  expect_null(made$confidential)
  expect_true(made$releasable)
  expect_equal(made$epsilon, 2)
  expect_output(print(made), "epsilon-differential privacy")
  expect_sentence(plot(made, "weights"), "a strict mechanism has no weights")
})

test_that("several formulas make several columns", {
  need_python()
  set.seed(4)
  table <- data.frame(sex = factor(sample(c("f", "m"), 150, TRUE)))
  table$visits <- rpois(150, ifelse(table$sex == "f", 3, 6))
  made <- alphasynth(list(sex ~ 1, visits ~ sex), table, "LW", family = list("bernoulli", "poisson"), seed = 1)
  back <- as.data.frame(made)
  expect_equal(names(back), c("sex", "visits"))
  expect_equal(levels(back$sex), c("f", "m"))
  expect_true(is.factor(back$sex) && is.integer(back$visits))
})

test_that("errors are one sentence", {
  need_python()
  table <- counts()
  fit <- function(...) alphasynth(y ~ 1, table, ..., family = "negative_binomial")
  expect_sentence(fit("LX"), "mechanism must be one of .*found 'LX'")
  expect_sentence(fit("LW", m = 1.5), "m must be a whole number of at least 1, found 1.5")
  expect_sentence(fit("LW", m = NULL), "m must be a whole number of at least 1, found NULL")
  expect_sentence(fit("LW", sclae = 2), "options must be those of alphasynth or of its mechanisms, found sclae$")
  expect_sentence(fit("LW", 1, 2, 3), "must have names")
  expect_sentence(fit("LW", seed = mean), "options must be numbers, text, logicals or lists of these, found function")
  expect_sentence(fit("LW", sampler = "gibbs"), "sampler must be one of automatic, .*found 'gibbs'")
  expect_sentence(fit(LW), "a rule or a list of rules, found function")
  expect_sentence(fit(Given("a")), "alpha must be numbers, found character")
  expect_sentence(fit(list(LW(), 3)), "rule must be one of LW")
  expect_sentence(fit("LW", epsilon = NA), "options must not be NA")
  expect_sentence(alphasynth(y ~ 1, table, "LW"), "family must be given")
  expect_sentence(alphasynth(data = table, mechanism = "LW"), "formula must be given")
  expect_sentence(alphasynth(y ~ 1, mechanism = "LW"), "data must be given")
  expect_sentence(CW(), "radius must be given")
  expect_sentence(Given(), "alpha must be given")
  expect_sentence(alphasynth(y ~ 1, table, family = "poisson"), "mechanism must be given")
  expect_sentence(alphasynth(z ~ 1, table, "LW", family = "poisson"), "column 'z' .* is not in the table")
  expect_sentence(alphasynth(y ~ 1, list(y = 1), "LW", family = "poisson"), "data must be a data frame, found list")
  few <- data.frame(y = 1:3, z = 1:3)
  expect_sentence(alphasynth(y ~ 1, few[0, ], "LW", family = "poisson"), "at least two records, found none")
  expect_sentence(alphasynth(y ~ 1, few[1, ], "LW", family = "poisson"), "at least two records, found one")
  of <- function(y) alphasynth(y ~ 1, data.frame(y), "LW", family = "poisson")
  expect_sentence(of(c(1, NA, 3)), "must have no missing values, found 1")
  expect_sentence(of(c(1, -2, 3)), "column 'y'")
  expect_sentence(alphasynth(list(y = list(limits = c(0, 9))), table, "Raked", epsilon = 1), "y")
})

test_that("Python's warnings are R's", {
  need_python()
  expect_warning(
    alphasynth(y ~ 1, counts(30), "Censored", epsilon = 0.01, family = "poisson", limits = list(mean = c(1, 100))),
    "the prior decides"
  )
})

test_that("conditions say of which kind they are", {
  need_python()
  expect_error(alphasynth(y ~ 1, counts(), "LX", family = "poisson"), class = "alphasynth_input_error")
})

test_that("the Python side's words are R's", {
  expect_identical(alphasynth:::in_words_of_r("widen --limits or --max-rows-now"), "widen limits or max_rows_now")
  expect_identical(alphasynth:::in_words_of_r("one (--public), found None"), "one (public = ), found NULL")
  expect_identical(alphasynth:::in_words_of_r("say (--densities) if 'True', found True"), "say if 'True', found TRUE")
  need_python()
  table <- cbind(counts(), a = 1)
  public <- "declared public \\(public = \\), since"
  expect_sentence(alphasynth(y ~ a, table, "LW", family = "poisson"), public)
  set.seed(5)
  turned <- outer(rpois(30, 6), rgamma(40, 6), function(y, mu) dpois(y, mu, log = TRUE))
  expect_sentence(bounds_from(turned), "^loglik must have one row per draw.*say records_in='rows', or say")
  expect_sentence(bounds_from(-turned), "say densities = TRUE if the response")
})

test_that("figures refuse what they do not know", {
  need_python()
  made <- alphasynth(y ~ 1, counts(), "LW", family = "poisson")
  expect_sentence(plot(made, which = "x"), "which must be \"weights\" or \"columns\"")
  expect_sentence(plot(made, which = 3), "found numeric")
  expect_sentence(plot(made, "columns", data = 3), "data must be a data frame, found numeric")
})

test_that("a column of the name that tables are numbered by is refused", {
  need_python()
  table <- data.frame(.table = rpois(40, 5))
  made <- alphasynth(.table ~ 1, table, "LW", family = "poisson")
  expect_identical(names(as.data.frame(made)), ".table")
  expect_sentence(as.data.frame(made, table = "all"), "must not be named .table")
})
