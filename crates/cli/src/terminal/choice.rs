//! A form that is nothing but a choice: one question, and what is chosen is the answer.
//!
//! There is no answer by default, and the way out is always the same two letters: no server can put something else behind
//! them. What a person types is compared with what they see, and only then with words that they do not see.

use std::io;

use contexture::client::ElicitAnswer;
use contexture::model::{ElicitSchema, ElicitValue, EnumOption, EnumSchema, PrimitiveSchema};

use super::form::Sheet;
use super::text::safe_line;

/// The only field of a form, if it is a choice that has to be made. Where the options are numbers themselves, their own
/// numbers would mean something else.
pub(super) fn alone(schema: &ElicitSchema) -> Option<(&String, &EnumSchema)> {
    let [(name, PrimitiveSchema::Enum(choices))] = schema.properties.as_slice() else { return None };
    let is_number = |option: &EnumOption| shown(option).trim().parse::<usize>().is_ok();
    let is_plain = choices.default_value.is_none() && !choices.options.iter().any(is_number);
    (schema.required.contains(name) && is_plain).then_some((name, choices))
}

fn shown(option: &EnumOption) -> &str {
    option.title.as_deref().unwrap_or(&option.value)
}

impl Sheet<'_> {
    /// One of several, by its number or its word; or none of them.
    pub(super) fn choose(&mut self, name: &str, choices: &EnumSchema) -> io::Result<ElicitAnswer> {
        let title = choices.title.as_deref().unwrap_or(name);
        writeln!(self.out, "{}  {}", self.margin, safe_line(title))?;
        if let Some(description) = &choices.description {
            writeln!(self.out, "{}    {}", self.margin, safe_line(description))?;
        }
        for (number, option) in (1..).zip(&choices.options) {
            writeln!(self.out, "{}    {number}  {}", self.margin, safe_line(shown(option)))?;
        }
        let last = choices.options.len();
        loop {
            write!(self.out, "{}  1 to {last}, [n]o (decline), [c]ancel: ", self.margin)?;
            let Some(line) = self.read_line()? else { return Ok(ElicitAnswer::Cancel) };
            match meant(&choices.options, line.trim()) {
                Some(Meant::Option(value)) => return Ok(ElicitAnswer::accept([(name.to_owned(), value)])),
                Some(Meant::Decline) => return Ok(ElicitAnswer::Decline),
                Some(Meant::Cancel) => return Ok(ElicitAnswer::Cancel),
                None => {}
            }
        }
    }
}

/// What a line says.
enum Meant {
    Option(ElicitValue),
    Decline,
    Cancel,
}

fn meant(options: &[EnumOption], typed: &str) -> Option<Meant> {
    let option = |option: &EnumOption| Meant::Option(ElicitValue::String(option.value.clone()));
    let lower = typed.to_lowercase();
    match lower.as_str() {
        "n" => return Some(Meant::Decline),
        "c" => return Some(Meant::Cancel),
        _ => {}
    }
    if let Ok(number) = typed.parse::<usize>() {
        return number.checked_sub(1).and_then(|at| options.get(at)).map(option);
    }
    if let Some(seen) = options.iter().find(|option| shown(option).to_lowercase() == lower) {
        return Some(option(seen));
    }
    match lower.as_str() {
        "no" | "decline" => Some(Meant::Decline),
        "cancel" => Some(Meant::Cancel),
        _ => options.iter().find(|option| option.value == typed).map(option),
    }
}

#[cfg(test)]
mod tests {
    use contexture::model::StringSchema;

    use super::*;

    fn answer(choices: EnumSchema, typed: &str) -> (ElicitAnswer, String) {
        let schema = ElicitSchema::new().required("color", choices);
        let mut out = Vec::new();
        let mut sheet = Sheet { input: &mut typed.as_bytes(), out: &mut out, margin: "| " };
        let answer = sheet.fill(&schema).expect("memory does not fail");
        (answer, String::from_utf8(out).expect("text"))
    }

    fn chosen(value: &str) -> ElicitAnswer {
        ElicitAnswer::accept([("color", value)])
    }

    // covers: ELIC-UI-DECLINE
    #[test]
    fn one_choice_is_one_question() {
        let colors = || EnumSchema::new([("r", "Red \u{1b}[31m"), ("g", "Green")]).title("Which?");
        for (typed, wanted) in [
            ("1\n", chosen("r")),
            ("\nblue\n3\n0\ngreen\n", chosen("g")),
            ("g\n", chosen("g")),
            ("n\n", ElicitAnswer::Decline),
            ("no\n", ElicitAnswer::Decline),
            ("C\n", ElicitAnswer::Cancel),
            ("", ElicitAnswer::Cancel),
        ] {
            let (answer, shown) = answer(colors(), typed);
            assert_eq!(answer, wanted, "{typed:?}: {shown}");
            assert!(!shown.contains("Send this?") && !shown.contains('\u{1b}'), "{shown}");
            assert!(shown.lines().all(|line| line.starts_with("| ")), "{shown}");
        }
    }

    /// Whoever says no must not agree to something.
    #[test]
    fn the_way_out_is_not_for_servers_to_name() {
        let trap = || EnumSchema::new([("no", "Delete everything"), ("c", "n"), ("keep", "Keep it")]);
        for (typed, wanted) in [
            ("no\n", ElicitAnswer::Decline),
            ("n\n", ElicitAnswer::Decline),
            ("c\n", ElicitAnswer::Cancel),
            ("2\n", chosen("c")),
        ] {
            assert_eq!(answer(trap(), typed).0, wanted, "{typed:?}");
        }
        // What they see is what they can say.
        assert_eq!(answer(EnumSchema::new(["yes", "no"]), "no\n").0, chosen("no"));
    }

    #[test]
    fn what_is_more_than_a_choice_is_a_form() {
        let numbers = EnumSchema::new(["3", "2", "1"]);
        let (three, shown) = answer(numbers, "3\ny\n");
        assert_eq!(three, chosen("3"), "{shown}");
        let preset = EnumSchema::new(["red", "green"]).default_value("red");
        assert!(answer(preset, "\ny\n").1.contains("Send this?"));
        let schema = ElicitSchema::new().required("a", EnumSchema::new(["x"]));
        assert!(alone(&schema).is_some());
        assert!(alone(&schema.optional("b", StringSchema::new())).is_none());
        assert!(alone(&ElicitSchema::new().optional("a", EnumSchema::new(["x"]))).is_none());
    }
}
