//! `cargo xtask bench`: ours beside its peers and beside the transports themselves, on one machine, in one run.
//!
//! It builds everything, measures in turns with `bench/drive`, and writes what it found: `bench/results.json`, and
//! from that `bench/RESULTS.md` and `bench/results.svg`. It is a benchmark, not a test: a promise that is missed
//! is said, and only what cannot be built, or ours answering wrongly, is a failure.

mod binary;
mod chart;
mod cli;
mod figures;
mod gateway;
mod machine;
mod options;
mod peers;
mod perf;
mod plan;
mod promises;
mod report;
mod results;
mod run;
mod setup;

use crate::workspace;
use options::Options;
use results::Results;
use std::path::Path;

/// Runs the benchmark, or only draws what an earlier run found.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let bench = workspace::root().join("bench");
    if let Some((part, rest)) = args.split_first().filter(|(part, _)| *part == "gateway") {
        return gateway::run(&bench, rest).map_err(|error| format!("{part}: {error}"));
    }
    if let Some((part, rest)) = args.split_first().filter(|(part, _)| *part == "cli") {
        return cli::run(&bench, rest).map_err(|error| format!("{part}: {error}"));
    }
    let options = Options::parse(args)?;
    if options.render {
        return render(&bench, &Results::read(&bench)?);
    }
    if let Some(profiled) = &options.perf {
        return perf::run(&bench, profiled, &options);
    }
    let mut results = run::run(&bench, &options, args)?;
    let whole = options.is_whole();
    if whole || options.merge {
        if !whole {
            let mut earlier = Results::read(&bench)?;
            earlier.merge(results);
            results = earlier;
        }
        results.write(&bench)?;
        render(&bench, &results)?;
    } else {
        println!("{}{}", report::tables(&results), report::disturbed(&results));
        println!("{}", promises::table(&promises::judge(&results)));
        println!("Nothing was written: `--merge` puts a part into bench/results.json.");
    }
    ours_answered(&results)
}

fn render(bench: &Path, results: &Results) -> Result<(), String> {
    for (name, text) in [("RESULTS.md", report::page(results)), ("results.svg", chart::picture(results))] {
        let path = bench.join(name);
        std::fs::write(&path, text).map_err(|error| format!("bench/{name}: {error}"))?;
        println!("bench/{name} is written");
    }
    Ok(())
}

/// A row without our own figures is a failure of ours, whatever the peers did.
fn ours_answered(results: &Results) -> Result<(), String> {
    let failed: Vec<_> =
        results.left_out.iter().filter(|(_, servers)| servers.contains_key(peers::OURS)).collect();
    match failed.first() {
        None => Ok(()),
        Some((row, servers)) => Err(format!(
            "ours has no figures in {} rows; the first is {row}: {}",
            failed.len(),
            servers.get(peers::OURS).map_or("", String::as_str)
        )),
    }
}
