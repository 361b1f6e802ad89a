package bench

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/revgen/revgen/bench/peers"
)

// tick is the unit of times in /proc.
const tick = time.Second / 100

// processorUsage returns the usage up to now. children are the process IDs of peers that
// still run.
func processorUsage(children []int) usage {
	u := usage{at: time.Now(), busy: allProcessors(), own: peers.ProcessorTime(0)}
	for _, pid := range children {
		u.own += peers.ProcessorTime(pid)
	}
	return u
}

// allProcessors returns how long the processors that this process may use have worked or
// were taken away by the host of a virtual machine; 0 if unknown.
func allProcessors() (sum time.Duration) {
	var allowed unix.CPUSet
	file, err := os.Open("/proc/stat")
	if err != nil || unix.SchedGetaffinity(0, &allowed) != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		number, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil || !allowed.IsSet(number) {
			continue
		}
		for i, field := range fields[1:9] { // user nice system idle iowait irq softirq steal
			if n, err := strconv.ParseInt(field, 10, 64); err == nil && i != 3 && i != 4 {
				sum += time.Duration(n) * tick
			}
		}
	}
	return sum
}
