// A normal mean, whose sd has a smallest value; and priors of several kinds.
data {
  int<lower=1> n;
  vector[n] y;
  vector<lower=0>[n] weights;
  real<lower=0> smallest;
  int<lower=0, upper=3> prior;
}
parameters {
  real mu;
  real<lower=0> above;
}
transformed parameters {
  real sigma = smallest + above;
}
model {
  if (prior == 0) mu ~ normal(0, 10);
  if (prior == 1) mu ~ cauchy(0, 2.5);
  if (prior == 3) mu ~ normal(sigma, 1);
  if (prior != 3) above ~ exponential(0.5);
  for (i in 1 : n) {
    target += weights[i] * normal_lpdf(y[i] | mu, sigma);
  }
}
generated quantities {
  vector[n] log_lik;
  vector[n] y_rep;
  for (i in 1 : n) {
    log_lik[i] = normal_lpdf(y[i] | mu, sigma);
    y_rep[i] = normal_rng(mu, sigma);
  }
}
