module roosttest

go 1.19
