// The targets of revgen bench answer, in one program that is compiled once.
data {
  int which; // 1 funnel, 2 banana, 3 two_modes, 4 schools, 5 logistic, 6 phi4, 7 regression
  int dim;
  int nx;
  int ny;
  vector[nx] a;
  vector[ny] b;
}
transformed data {
  matrix[which == 5 ? ny : 0, which == 5 ? dim : 0] design;
  int outcome[which == 5 ? ny : 0];
  int side = 1;
  int p = which == 7 ? dim - 1 : 0;
  matrix[p, p] factor = rep_matrix(0, p, p); // Q times the design
  vector[p] goal;                            // and Q times the responses
  while (side * side < dim) side += 1;
  if (which == 5) {
    for (i in 1:ny) {
      outcome[i] = b[i] > 0;
      for (j in 1:dim) design[i, j] = a[(i - 1) * dim + j];
    }
  }
  if (which == 7) {
    int at = 4;
    for (i in 1:p) {
      for (j in i:p) {
        factor[i, j] = a[at];
        at += 1;
      }
    }
    goal = a[at:nx];
  }
}
parameters {
  vector[dim] x;
}
model {
  if (which == 1) {
    x[1] ~ normal(0, 3);
    x[2:] ~ normal(0, exp(x[1] / 2));
  } else if (which == 2) {
    x[1] ~ std_normal();
    x[2] ~ normal(square(x[1]), 0.3);
  } else if (which == 3) {
    target += log_mix(0.7, -dot_self(x) / 2, -dot_self(x - a) / 2);
  } else if (which == 4) {
    x[1] ~ normal(0, 5);
    target += -log1p(square(exp(x[2]) / 5)) + x[2];
    x[3:] ~ std_normal();
    b ~ normal(x[1] + exp(x[2]) * x[3:], a);
  } else if (which == 5) {
    x ~ normal(0, 2.5);
    outcome ~ bernoulli_logit_glm(design, 0, x);
  } else if (which == 7) {
    real sigma = exp(x[dim]);
    if (ny > 0) x[1:p] ~ normal(b[1:p], b[(p + 1):ny]);
    if (a[3] > 0) target += -log1p(square(sigma / a[3]));
    target += (1 - a[1]) * x[dim] - (a[2] + dot_self(factor * x[1:p] - goal)) / (2 * square(sigma));
  } else {
    matrix[side, side] f = to_matrix(x, side, side);
    real near = 0;
    for (i in 1:side) {
      near += dot_product(f[i], f[i % side + 1]) + dot_product(f[, i], f[, i % side + 1]);
    }
    target += 2 * a[1] * near - dot_self(x) - a[2] * dot_self(square(x) - 1);
  }
}
