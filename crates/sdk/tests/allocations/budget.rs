//! The budgets of `bench/budget.toml`, and the verdict. Reads only what that file consists of: sections, and lines
//! of a name and a number.

use std::path::Path;

/// Says what was measured and fails if any of it is above its budget or above what is promised.
#[expect(clippy::print_stdout, reason = "`cargo xtask budget` reads it")]
pub(crate) fn check(measured: &[(&str, f64)]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/budget.toml");
    let text = std::fs::read_to_string(&file).expect("bench/budget.toml");
    let mut faults = Vec::new();
    for &(name, each) in measured {
        // What is left is what grows now and then, once for all calls: buffers, tables.
        let each = each.round();
        println!("allocations: {name} = {each}");
        let transport = name.split(',').next().unwrap_or_default();
        let promised = name.ends_with("echo").then(|| number(&text, "promised allocations", transport));
        for limit in [Some(number(&text, "allocations", name)), promised].into_iter().flatten() {
            match limit {
                Some(limit) if each <= limit => {}
                Some(limit) => faults.push(format!("{name}: {each} allocations, {limit} are allowed")),
                None => faults.push(format!("{name}: bench/budget.toml says nothing about it")),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The number of a name in a section.
fn number(text: &str, section: &str, name: &str) -> Option<f64> {
    let heading = format!("[\"{section}\"]");
    let lines = text.lines().skip_while(|line| line.trim() != heading).skip(1);
    let entry = format!("\"{name}\"");
    let mut lines = lines.take_while(|line| !line.starts_with('['));
    let value = lines.find_map(|line| line.trim().strip_prefix(&entry)?.trim().strip_prefix('='))?;
    value.trim().replace('_', "").parse().ok()
}
