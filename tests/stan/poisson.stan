// A Poisson mean, and one fault at a time in what a program promises.
functions {
  real f_of(array[] int counts, int i, real log_mean, int fault) {
    return poisson_log_lpmf(counts[i] | log_mean) - (fault == 3 ? 0.1 * counts[1] * square(log_mean) : 0)
           + (fault == 6 ? 10 : 0);
  }
}
data {
  int<lower=1> rows;
  array[rows] int<lower=0, upper=1000> counts;
  vector<lower=0>[rows] alpha;
  int<lower=0, upper=6> fault;
  real<lower=0> prior_sd;
}
parameters {
  real log_mean;
}
model {
  log_mean ~ normal(fault == 1 ? mean(to_vector(counts)) : 0, prior_sd);
  for (i in 1 : rows) {
    int ignored = fault == 2 || fault == 4 || (fault == 5 && counts[i] >= 12);
    target += (ignored ? 1 : alpha[i]) * f_of(counts, i, log_mean, fault);
  }
}
generated quantities {
  vector[rows] f;
  array[rows] int fresh;
  for (i in 1 : rows) {
    f[i] = fault == 4 && i == 1 ? not_a_number() : alpha[i] * f_of(counts, i, log_mean, fault);
    fresh[i] = poisson_log_rng(log_mean);
  }
}
