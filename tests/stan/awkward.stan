// What is unusual and allowed: limits of the response, weights by way of transformed data, a parameter that is called like
// our data, one as long as a table has rows, a density that is not defined at 0, blocks in other spacing.
data {
  int<lower=1> n;
  array[n] int<lower=18, upper=1000> y;
  vector<lower=0>[n] alpha;
}
transformed  data {
  vector[n] used = alpha;
}
parameters {
  real log_mean;
  real reciprocal;
  simplex[2] weights;
  vector[2] extra;
}
model {
  log_mean ~ normal(3, 2);
  reciprocal ~ normal(0.5, 0.1);
  if (reciprocal == 0) reject("0 with y ", y[1]);
  weights ~ dirichlet([2.0, 3.0]');
  extra ~ std_normal();
  for (i in 1 : n) target += used[i] * poisson_log_lpmf(y[i] | log_mean);
}
generated quantities {
  vector[n] log_lik;
  array[n] int y_rep;
  for (i in 1 : n) {
    log_lik[i] = poisson_log_lpmf(y[i] | log_mean);
    y_rep[i] = poisson_log_rng(log_mean);
  }
}
