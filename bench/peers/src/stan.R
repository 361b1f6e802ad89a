# Stan's NUTS through rstan, by the protocol of peer.h: select TARGET DIM SEED, and run
# draws after a warm-up of 1000. The array series has states [draws][dim], times the
# seconds of warm-up and sampling, and evaluations their gradients of ln π.
suppressPackageStartupMessages(library(rstan))
rstan_options(boost_lib = "/usr/include") # Debian's headers
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
# As CmdStan compiles it, and without what debuggers want, which takes a quarter of a minute.
makevars <- file.path(here, "Makevars")
writeLines(paste0("CXX", c(14, 17), "FLAGS = -O3"), makevars)
Sys.setenv(R_MAKEVARS_USER = makevars)
numbers <- c(funnel = 1, banana = 2, two_modes = 3, schools = 4, logistic = 5, phi4 = 6, regression = 7)
arrays <- list()
compiled <- NULL
selected <- NULL

answer <- function(words) {
  switch(words[1],
    about = return(paste0("Stan ", stan_version(), " by rstan ", packageVersion("rstan"), ", NUTS, one thread")),
    load = {
      file <- file(words[3], "rb")
      arrays[[words[2]]] <<- readBin(file, "double", file.size(words[3]) / 8)
      close(file)
    },
    forget = arrays <<- list(),
    select = {
      selected <<- list(target = numbers[[words[2]]], dim = as.integer(words[3]), seed = as.integer(words[4]))
      if (is.null(compiled)) compiled <<- stan_model(file.path(here, "targets.stan"), auto_write = TRUE)
    },
    run = {
      a <- as.array(as.numeric(arrays[["x"]]))
      b <- as.array(as.numeric(arrays[["y"]]))
      data <- list(which = as.integer(selected$target), dim = selected$dim, nx = length(a), ny = length(b), a = a, b = b)
      start <- proc.time()
      fit <- sampling(compiled, data,
        chains = 1, cores = 1, warmup = 1000, iter = 1000 + as.integer(words[2]),
        seed = selected$seed, control = list(adapt_delta = 0.95), save_warmup = TRUE, refresh = 0, check_data = FALSE, show_messages = FALSE
      )
      used <- proc.time() - start
      processor <- used[["user.self"]] + used[["sys.self"]]
      draws <- extract(fit, "x", permuted = FALSE, inc_warmup = FALSE)
      arrays$series <<- as.vector(t(matrix(draws, ncol = selected$dim)))
      leaps <- get_sampler_params(fit, inc_warmup = TRUE)[[1]][, "n_leapfrog__"]
      arrays$evaluations <<- c(sum(leaps[1:1000]), sum(leaps[-(1:1000)]))
      spent <- get_elapsed_time(fit)[1, ]
      # Stan's own clock is the wall's: its shares of the processor's time.
      arrays$times <<- processor * spent / sum(spent)
      return(sprintf("%.0f", 1e9 * sum(arrays$times)))
    },
    store = writeBin(as.double(arrays[[words[2]]]), words[3]),
    stop("unknown command")
  )
  ""
}

input <- file("stdin", "r")
while (length(line <- readLines(input, 1)) > 0) {
  reply <- tryCatch(paste("ok", answer(strsplit(line, " ")[[1]])),
    error = function(e) paste("error", gsub("\n", " ", conditionMessage(e)))
  )
  cat(reply, "\n", sep = "")
  flush(stdout())
}
