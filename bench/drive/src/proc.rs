//! What `/proc` says about a process and about the two cores of the benchmark. It reads, waits and forgets
//! one counter; it controls nothing.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The kernel's unit of `/proc/*/stat`, which has been a hundredth of a second on Linux everywhere.
const TICKS: f64 = 100.0;

/// CPU time that a process has used up to now.
pub struct Cpu {
    /// All that it ever used, in hundredths of a second.
    whole: f64,
    /// What each living thread used, in nanoseconds.
    threads: BTreeMap<u32, u64>,
}

impl Cpu {
    /// Reads the counters of one process.
    pub fn of(pid: u32) -> Result<Self, String> {
        let mut threads = BTreeMap::new();
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_err(|_| "the process has ended")?;
        for task in tasks.flatten() {
            // A thread may end between being listed and being read.
            let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else { continue };
            let id = task.file_name().to_string_lossy().parse().unwrap_or_default();
            threads
                .insert(id, text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or_default());
        }
        let stat = stat(&pid.to_string())?;
        Ok(Self { whole: (stat[11] + stat[12]) / TICKS, threads })
    }

    /// Seconds since `earlier`. The threads' counters are exact, but a thread that ended took its own with
    /// it; then the process's, which is coarse, has to do.
    pub fn since(&self, earlier: &Self) -> f64 {
        if earlier.threads.keys().any(|id| !self.threads.contains_key(id)) {
            return self.whole - earlier.whole;
        }
        let sum = |cpu: &Self| cpu.threads.values().sum::<u64>();
        (sum(self) - sum(earlier)) as f64 / 1e9
    }
}

/// CPU seconds of our own children that have ended.
pub fn children() -> Result<f64, String> {
    let stat = stat("self")?;
    Ok((stat[13] + stat[14]) / TICKS)
}

/// The numbers after the process's name, which may itself have blanks and brackets.
fn stat(pid: &str) -> Result<Vec<f64>, String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|_| "the process has ended")?;
    let numbers = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let numbers: Vec<f64> = numbers.map(|word| word.parse().unwrap_or_default()).collect();
    if numbers.len() < 15 { Err("an odd /proc/*/stat".into()) } else { Ok(numbers) }
}

/// Resident memory in KiB: `VmRSS` now, `VmHWM` at its highest.
pub fn memory(pid: u32, counter: &str) -> Result<f64, String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|_| "the process has ended")?;
    let line = status.lines().find_map(|line| line.strip_prefix(counter)).ok_or("an odd /proc/*/status")?;
    let number = line.trim_start_matches(':').trim().trim_end_matches(" kB");
    number.parse().map_err(|_| format!("odd {counter}: {line}"))
}

/// Makes `VmHWM` what `VmRSS` is now.
pub fn forget_peak(pid: u32) -> Result<(), String> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").map_err(|e| format!("cannot reset VmHWM: {e}"))
}

/// Seconds for which cores 0 and 1 were not idle, whoever used them.
pub fn busy_cores() -> Result<f64, String> {
    let text = fs::read_to_string("/proc/stat").map_err(|e| format!("/proc/stat: {e}"))?;
    let mut ticks = 0.0;
    for line in text.lines().filter(|line| line.starts_with("cpu0 ") || line.starts_with("cpu1 ")) {
        let all: Vec<f64> = line.split_whitespace().skip(1).take(8).filter_map(|n| n.parse().ok()).collect();
        // The fourth and fifth are idle and waiting for a disk.
        ticks += all.iter().sum::<f64>() - all.iter().skip(3).take(2).sum::<f64>();
    }
    Ok(ticks / TICKS)
}

/// Returns when both cores were idle for a moment, or when the time is over.
pub fn wait_for_quiet(seconds: u64) -> Result<(), String> {
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        let before = busy_cores()?;
        thread::sleep(Duration::from_millis(200));
        if busy_cores()? - before < 0.04 {
            break;
        }
    }
    Ok(())
}
