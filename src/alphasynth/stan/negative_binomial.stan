// Negative binomial regression with a weight for every record: `weights` multiply the records' log-likelihoods.
// The prior is the paper's. `log_lik` is not weighted; `y_rep` are new records beside the same covariates.
data {
  int<lower=1> n;
  int<lower=1> K;
  array[n] int<lower=0> y;
  matrix[n, K] X;
  vector<lower=0>[n] weights;
}
parameters {
  vector[K] beta;
  vector<lower=0>[K] scale;
  cholesky_factor_corr[K] correlation;
  real<lower=0> reciprocal_phi;
}
transformed parameters {
  real phi = inv(reciprocal_phi);
}
model {
  vector[n] log_mean = X * beta;
  beta ~ multi_normal_cholesky(rep_vector(0, K), diag_pre_multiply(scale, correlation));
  scale ~ student_t(3, 0, 1);
  correlation ~ lkj_corr_cholesky(6);
  reciprocal_phi ~ cauchy(0, 5);
  for (i in 1 : n) {
    target += weights[i] * neg_binomial_2_log_lpmf(y[i] | log_mean[i], phi);
  }
}
generated quantities {
  vector[n] log_lik;
  array[n] int y_rep;
  {
    vector[n] log_mean = X * beta;
    for (i in 1 : n) {
      log_lik[i] = neg_binomial_2_log_lpmf(y[i] | log_mean[i], phi);
      y_rep[i] = neg_binomial_2_log_rng(fmin(log_mean[i], 20), phi);
    }
  }
}
