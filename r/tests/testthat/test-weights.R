# The paper's Supplement 1, loops and all, but for thresh: an oracle that knows nothing of the Python side.
by_loops <- function(log_lik) {
  ratio <- matrix(0, nrow(log_lik), ncol(log_lik))
  for (s in seq_len(nrow(log_lik))) {
    for (i in seq_len(ncol(log_lik))) ratio[s, i] <- abs(sum(log_lik[s, ]) - sum(log_lik[s, -i]))
  }
  largest <- apply(ratio, 2, max)
  weights <- 1 - (largest - min(largest)) / (max(largest) - min(largest))
  list(alpha = weights, largest = largest, overall = max(ratio))
}

likelihoods <- function() {
  set.seed(5)
  y <- c(rpois(30, 6), 25)
  mu <- rgamma(40, sum(y) + 1, length(y) + 1)
  outer(mu, y, function(mu, y) dpois(y, mu, log = TRUE))
}

test_that("LW's weights and bounds are those of the paper's loops", {
  need_python()
  log_lik <- likelihoods()
  slow <- by_loops(log_lik)
  fast <- weights_from(log_lik, LW())
  expect_equal(fast$alpha, slow$alpha, tolerance = 1e-9)
  expect_equal(fast$largest, slow$largest, tolerance = 1e-9)
  expect_equal(fast$overall, slow$overall, tolerance = 1e-9)
  expect_equal(fast$epsilon_per_draw, 2 * fast$overall)
  expect_equal(c(fast$num_draws, fast$n), dim(log_lik))
  half <- weights_from(log_lik, LW(scale = 0.5, shift = 0.1))
  expect_equal(half$alpha, 0.5 * slow$alpha + 0.1, tolerance = 1e-9)
})

test_that("a weighted matrix and an unweighted one with its weights tell the same", {
  need_python()
  log_lik <- likelihoods()
  alpha <- seq(0.3, 1, length.out = ncol(log_lik))
  plain <- bounds_from(log_lik, alpha)
  weighted <- bounds_from(sweep(log_lik, 2, alpha, "*"), alpha, weighted = TRUE)
  expect_equal(weighted[c("by_record", "overall")], plain[c("by_record", "overall")])
  expect_equal(plain$by_record, alpha * apply(abs(log_lik), 2, max))
  again <- weights_from(log_lik, Reweight(0.95), alpha)
  expect_equal(again$alpha, pmin(1, 0.95 * plain$overall / plain$largest))
})

test_that("a zero weight stays or does not", {
  need_python()
  log_lik <- likelihoods()
  alpha <- c(0, seq(0.5, 1, length.out = ncol(log_lik) - 1))
  expect_gt(weights_from(log_lik, Reweight(0.95), alpha)$alpha[1], 0)
  expect_equal(weights_from(log_lik, Reweight(0.95, keep_zeros = TRUE), alpha)$alpha[1], 0)
})

test_that("a matrix may have its records in rows", {
  need_python()
  expect_equal(bounds_from(t(likelihoods()), records_in = "rows")$by_record, bounds_from(likelihoods())$by_record)
})

test_that("an array has all iterations of all chains as draws", {
  need_python()
  log_lik <- likelihoods()
  array <- array(log_lik, c(20, 2, ncol(log_lik)))
  expect_equal(bounds_from(array), bounds_from(log_lik))
  expect_equal(weights_from(array, LW()), weights_from(log_lik, LW()))
  dimnames(array) <- list(NULL, c("chain:1", "chain:2"), paste0("log_lik[", seq_len(ncol(log_lik)), "]"))
  expect_equal(bounds_from(array), bounds_from(log_lik))
  dimnames(array)[[3]][ncol(log_lik)] <- "lp__"
  expect_sentence(bounds_from(array), "log-likelihoods alone, .*found 2 variables")
  expect_sentence(bounds_from(unname(array), records_in = "rows"), "iterations x chains x records, found records_in")
})

test_that("thresh drops draws", {
  need_python()
  log_lik <- likelihoods()
  kept <- bounds_from(log_lik, thresh = 0.9)
  expect_equal(kept$num_draws, 36)
  expect_equal(kept$overall, sort(apply(abs(log_lik), 1, max))[36])
  expect_equal(kept$thresh_quantile, unname(quantile(apply(abs(log_lik), 1, max), 0.9)))
})

test_that("bounds say of which fit they are, and what was not compared", {
  need_python()
  log_lik <- likelihoods()
  expect_output(print(bounds_from(log_lik)), "if these are of the fit without weights")
  made <- weights_from(log_lik, LW())
  other <- bounds_from(log_lik * 1.01 - 0.02 * (col(log_lik) %% 7), alpha = made)
  expect_true(other$compared)
  expect_output(print(other), "if these are of a fit with these weights")
  alone <- bounds_from(log_lik, alpha = rep(0.5, ncol(log_lik)))
  expect_false(alone$compared)
  expect_output(print(alone), "Not compared: the weights came without")
  expect_sentence(bounds_from(log_lik, alpha = weights_from(log_lik, SW(0.5))), "found the matrix that the weights were made")
})

test_that("where there is no bound none is printed", {
  need_python()
  log_lik <- replace(likelihoods(), 1, -Inf)
  for (x in list(bounds_from(log_lik), weights_from(log_lik))) {
    said <- paste(capture.output(print(x)), collapse = " ")
    expect_match(said, "no bound: some draws|without a bound")
    expect_false(grepl("Delta Inf|epsilon Inf", said))
  }
})

test_that("weights that the fit had already go with its matrix", {
  need_python()
  log_lik <- likelihoods()
  made <- weights_from(log_lik, SW(1))
  expect_null(made$made_from)
  expect_equal(bounds_from(log_lik, alpha = made)$overall, made$overall)
  expect_equal(weights_from(log_lik, SW(0.5))$made_from, made$largest)
})

test_that("entries that are multiplied, or not, are refused where the option says otherwise", {
  need_python()
  log_lik <- likelihoods()
  made <- weights_from(log_lik, LW())
  other <- log_lik * 1.01 - 0.02 * (col(log_lik) %% 7)
  product <- sweep(other, 2, made$alpha, "*")
  expect_equal(bounds_from(product, made, weighted = TRUE)$overall, bounds_from(other, made)$overall)
  expect_sentence(bounds_from(product, made), "unless weighted = TRUE says so, found entries that are all 0")
  expect_sentence(weights_from(product, Reweight(0.95), alpha = made$alpha), "unless weighted = TRUE says so")
  expect_sentence(bounds_from(other, made, weighted = TRUE), "where weighted = TRUE says so, found entries other than 0")
})

test_that("CW counts records and needs no matrix", {
  need_python()
  y <- c(1, 2, 3, 10)
  made <- weights_from(NULL, CW(1), records = y)
  expect_equal(made$alpha, c(2, 3, 2, 1) / 4)
  expect_output(print(made), "Weights of 4 records")
})

test_that("a large matrix goes over in parts", {
  need_python()
  log_lik <- likelihoods()
  whole <- bounds_from(log_lik)
  parts <- alphasynth:::loglik_to_python(log_lik)
  expect_length(parts$parts, 1)
  parts <- alphasynth:::loglik_to_python(log_lik, largest_part = 8 * 40 * 7)
  expect_equal(lengths(parts$parts), 8 * 40 * c(7, 7, 7, 7, 3))
  answer <- alphasynth:::ask("bounds_from", parts, alphasynth:::reading())
  expect_equal(answer$overall, whole$overall)
})

test_that("a file is read where it is", {
  need_python()
  file <- tempfile(fileext = ".csv")
  write.csv(likelihoods(), file, row.names = FALSE)
  expect_equal(bounds_from(file)$overall, bounds_from(likelihoods())$overall)
})

test_that("figures are drawn", {
  need_python()
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  plot(weights_from(likelihoods()))
  plot(bounds_from(likelihoods()))
  plot(weights_from(NULL, CW(1), records = 1:9))
  grDevices::dev.off()
  expect_gt(file.size(file), 2000)
})

test_that("errors are one sentence", {
  need_python()
  log_lik <- likelihoods()
  expect_sentence(weights_from(), "loglik must be given")
  expect_sentence(bounds_from(alpha = 1), "loglik must be given")
  expect_sentence(weights_from(3), "loglik must be a matrix of numbers")
  expect_sentence(weights_from(list()), "loglik must be a matrix of numbers")
  expect_sentence(weights_from(matrix(0, 0, 3)), "must have draws and records, found 0 x 3")
  expect_sentence(weights_from(t(log_lik)), "transposed")
  expect_sentence(bounds_from(log_lik, weighted = NA), "options must not be NA")
  expect_sentence(weights_from(replace(log_lik, 1, NA)), "NaN")
  expect_sentence(weights_from(-log_lik), "^loglik must be")
  expect_sentence(weights_from("nothing.csv"), "found none at 'nothing.csv'")
  expect_sentence(bounds_from(log_lik, alpha = c(1, 1)), "alpha must have one entry per column of loglik, 31, found 2")
  expect_sentence(bounds_from(log_lik, alpha = "a"), "alpha must be numbers, found character")
  expect_sentence(bounds_from(log_lik, thresh = 2), "thresh must be above 0 and at most 1, found 2")
  expect_sentence(weights_from(log_lik, CW(1)), "records")
  expect_sentence(weights_from(log_lik, "LW"), "rule must be one of")
  expect_sentence(weights_from(log_lik, SW()), "SW must have its alpha")
})

test_that("numbers of privacy are rounded up", {
  expect_equal(alphasynth:::up(5.50001), "5.501")
  expect_equal(alphasynth:::up(14.3), "14.3")
  expect_equal(alphasynth:::up(0.00123411), "0.001235")
  expect_equal(alphasynth:::up(123456.7), "123500")
})
