//! `cargo xtask budget`: what one call costs, counted. Allocations and instructions do not depend on how busy or how
//! fast a machine is, so that a change that makes a call dearer fails here, on any of them. It times nothing: that
//! is what `cargo xtask bench` is for.

mod allocations;
mod drive;
mod file;
mod instructions;

use crate::test::Tally;
use file::{Budgets, Kind};

const USAGE: &str = "usage: cargo xtask budget [--write]";

/// One number of one work.
struct Measured {
    kind: Kind,
    name: &'static str,
    each: f64,
}

impl Measured {
    fn new(kind: Kind, name: &'static str, each: f64) -> Self {
        Self { kind, name, each }
    }
}

/// Measures and judges, or renews the file.
pub fn run(args: &[String]) -> Result<(), String> {
    run_counted(args, &mut Tally::default())
}

/// The same, and counts what held and what did not.
pub fn run_counted(args: &[String], tally: &mut Tally) -> Result<(), String> {
    let write = match args {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => return Err(USAGE.to_owned()),
    };
    let mut measured = allocations::measure()?;
    measured.extend(instructions::measure()?);
    let mut budgets = Budgets::read()?;
    if write {
        budgets.renew(&measured);
        budgets.write()?;
    }
    let over = judge(&budgets, &measured);
    tally.failed += over;
    tally.passed += measured.len() as u64 - over;
    match over {
        0 => Ok(()),
        over => Err(format!(
            "{over} above budget: make the call cheaper, or say why it cannot be and renew the file with \
             `cargo xtask budget --write`"
        )),
    }
}

/// Prints everything and returns how many are above their budget or their promise.
fn judge(budgets: &Budgets, measured: &[Measured]) -> u64 {
    println!("\n{:46} {:>12} {:>12} {:>12}", "", "measured", "budget", "promised");
    let mut over = 0;
    for kind in [Kind::Allocations, Kind::Instructions] {
        println!("{} of one call", kind.section());
        for it in measured.iter().filter(|it| it.kind == kind) {
            let (budget, promised) = (budgets.get(kind, it.name), budgets.promised(kind, it.name));
            let above = |limit: Option<f64>| limit.is_some_and(|limit| it.each > limit);
            let is_over = kind.is_judged_here() && (budget.is_none() || above(budget) || above(promised));
            over += u64::from(is_over);
            let show = |limit: Option<f64>| limit.map_or("-".to_owned(), |limit| format!("{limit:.0}"));
            let mark = if is_over { "  OVER" } else { "" };
            let (budget, promised) = (show(budget), show(promised));
            println!("  {:44} {:>12.0} {budget:>12} {promised:>12}{mark}", it.name, it.each);
        }
    }
    if !Kind::Instructions.is_judged_here() {
        println!("instructions are not judged here: the budgets are of x86_64");
    }
    over
}
