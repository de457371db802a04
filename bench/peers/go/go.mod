module mltp/bench/peers/go

go 1.19
