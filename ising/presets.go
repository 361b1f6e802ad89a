package ising
