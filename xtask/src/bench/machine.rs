//! What the figures were measured on, and how: for the head of the report. Nothing that names the machine or
//! its owner.

use super::options::Options;
use crate::process::capture;
use crate::workspace;
use std::fs;
use std::process::Command;

/// Date, command, commit, rounds, machine.
pub(super) fn about(options: &Options, args: &[String]) -> Vec<(String, String)> {
    let said = |command: &mut Command| {
        capture(command).map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
    };
    let date = said(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"]));
    let mut git = Command::new("git");
    let commit = said(git.args(["describe", "--always", "--dirty"]).current_dir(workspace::root()));
    let command = ["cargo xtask bench"].into_iter().chain(args.iter().map(String::as_str));
    let rounds = match options.rounds {
        1 => format!("1 round of {} s", options.seconds),
        rounds => format!("medians of {rounds} rounds of {} s", options.seconds),
    };
    let (cores, processor) = processor(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default());
    let memory = memory(&fs::read_to_string("/proc/meminfo").unwrap_or_default());
    let kernel = said(Command::new("uname").args(["-s", "-r", "-m"]));
    let machine = format!("{cores} cores, {processor}, {memory:.0} GiB, {kernel}");
    [
        ("Date", date),
        ("Command", format!("`{}`", command.collect::<Vec<_>>().join(" "))),
        ("Commit", commit),
        ("Measured", rounds),
        ("Machine", machine),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// How many cores there are, and what they are called.
fn processor(text: &str) -> (usize, String) {
    let of = |name: &str| text.lines().filter(move |line| line.starts_with(name)).collect::<Vec<_>>();
    let model = of("model name")
        .first()
        .and_then(|line| line.split_once(':'))
        .map(|(_, model)| model.trim().to_owned());
    (of("processor").len(), model.unwrap_or_else(|| "unknown processor".into()))
}

fn memory(text: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0 / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_read() {
        let text = "processor\t: 0\nmodel name\t: Some CPU\nprocessor\t: 1\nmodel name\t: Some CPU\n";
        assert_eq!(processor(text), (2, "Some CPU".into()));
        assert!((memory("MemTotal:       4194304 kB\n") - 4.0).abs() < 0.01);
    }
}
