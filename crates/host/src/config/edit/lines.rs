//! Two texts line by line: what is gone, what is new, and what is the same.

/// More comparisons than this are not worth the time: then all that differs counts as new.
const MOST: usize = 4_000_000;
/// Lines around a change that are shown.
const AROUND: usize = 3;

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Lines are left out here; the first of those that follow is at this line, in the old text and in the new one.
    At(usize, usize),
    /// In both.
    Same(String),
    /// Only in the old text.
    Gone(String),
    /// Only in the new one.
    New(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Same(usize, usize),
    Gone(usize),
    New(usize),
}

/// The lines that changed, with a few around them.
pub(super) fn unified(old: &str, new: &str) -> Vec<Line> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let steps = compare(&old, &new);
    let changed: Vec<usize> = (0..steps.len()).filter(|at| !matches!(steps[*at], Step::Same(..))).collect();
    let is_near = |at: usize| {
        let next = changed.partition_point(|change| *change + AROUND < at);
        changed.get(next).is_some_and(|change| *change <= at + AROUND)
    };
    let (mut out, mut skipped) = (Vec::new(), true);
    let (mut old_line, mut new_line) = (1, 1);
    for (at, step) in steps.iter().enumerate() {
        if is_near(at) {
            if std::mem::take(&mut skipped) {
                out.push(Line::At(old_line, new_line));
            }
            out.push(match step {
                Step::Same(at, _) => Line::Same(old[*at].to_owned()),
                Step::Gone(at) => Line::Gone(old[*at].to_owned()),
                Step::New(at) => Line::New(new[*at].to_owned()),
            });
        } else {
            skipped = true;
        }
        old_line += usize::from(!matches!(step, Step::New(_)));
        new_line += usize::from(!matches!(step, Step::Gone(_)));
    }
    out
}

/// The steps from the one to the other, as few as possible.
pub(super) fn compare(old: &[&str], new: &[&str]) -> Vec<Step> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = tail.take_while(|(one, other)| one == other).count();
    let (left, right) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut steps: Vec<Step> = (0..head).map(|at| Step::Same(at, at)).collect();
    if left.len() * right.len() <= MOST {
        between(left, right, head, &mut steps);
    } else {
        steps.extend((0..left.len()).map(|at| Step::Gone(head + at)));
        steps.extend((0..right.len()).map(|at| Step::New(head + at)));
    }
    let ends = (old.len() - tail..old.len()).zip(new.len() - tail..new.len());
    steps.extend(ends.map(|(one, other)| Step::Same(one, other)));
    steps
}

/// By the longest sequence of lines that both have.
fn between(left: &[&str], right: &[&str], head: usize, steps: &mut Vec<Step>) {
    let width = right.len() + 1;
    let mut longest = vec![0_u32; (left.len() + 1) * width];
    for (one, text) in left.iter().enumerate().rev() {
        for (other, candidate) in right.iter().enumerate().rev() {
            longest[one * width + other] = if text == candidate {
                longest[(one + 1) * width + other + 1] + 1
            } else {
                longest[(one + 1) * width + other].max(longest[one * width + other + 1])
            };
        }
    }
    let (mut one, mut other) = (0, 0);
    while one < left.len() || other < right.len() {
        let is_gone = other == right.len()
            || (one < left.len() && longest[(one + 1) * width + other] >= longest[one * width + other + 1]);
        if one < left.len() && other < right.len() && left[one] == right[other] {
            steps.push(Step::Same(head + one, head + other));
            (one, other) = (one + 1, other + 1);
        } else if is_gone {
            steps.push(Step::Gone(head + one));
            one += 1;
        } else {
            steps.push(Step::New(head + other));
            other += 1;
        }
    }
}
