library(testthat)
library(alphasynth)

test_check("alphasynth")
