package potts

const goldenLattice = `
start 1a613b7724b9
trained 6beaf23d3c13
states, refined by 0 d65475db2492
states, refined by 3 d3ee182ba209
one_hot, refined by 0 acf244af0731
one_hot, refined by 3 c0e979c125ae
weighted, refined by 0 65eea094964b
`
