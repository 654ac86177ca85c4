//! A form on the terminal: one question per field, then what to do with the answers.
//!
//! Nothing is sent before the person has seen all of it and said yes. The end of input means that they
//! went away.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use contexture::client::ElicitAnswer;
use contexture::model::{ElicitSchema, ElicitValue, EnumOption, PrimitiveSchema, StringFormat};

use super::text::safe_line;

type Answers = BTreeMap<String, ElicitValue>;

/// Asks for every field and for the decision.
pub(crate) fn fill(
    input: &mut dyn BufRead,
    out: &mut dyn Write,
    schema: &ElicitSchema,
) -> io::Result<ElicitAnswer> {
    loop {
        let Some(answers) = ask_fields(input, out, schema)? else { return Ok(ElicitAnswer::Cancel) };
        write!(out, "  Send this? [y]es, [n]o (decline), [c]ancel, [e]dit: ")?;
        match decision(input, out)? {
            Some('y') => return Ok(ElicitAnswer::Accept(answers)),
            Some('n') => return Ok(ElicitAnswer::Decline),
            Some('e') => {}
            _ => return Ok(ElicitAnswer::Cancel),
        }
    }
}

/// A yes, a no, or neither.
pub(crate) fn consent(input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<ElicitAnswer> {
    write!(out, "  Agree? [y]es, [n]o (decline), [c]ancel: ")?;
    Ok(match decision(input, out)? {
        Some('y') => ElicitAnswer::Accept(Answers::new()),
        Some('n') => ElicitAnswer::Decline,
        _ => ElicitAnswer::Cancel,
    })
}

fn decision(input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<Option<char>> {
    let line = read_line(input, out)?;
    Ok(line.and_then(|line| line.trim().to_lowercase().chars().next()))
}

/// `None` at the end of input.
fn read_line(input: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<Option<String>> {
    out.flush()?;
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        writeln!(out)?;
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}

fn ask_fields(
    input: &mut dyn BufRead,
    out: &mut dyn Write,
    schema: &ElicitSchema,
) -> io::Result<Option<Answers>> {
    let mut answers = Answers::new();
    for (name, field) in &schema.properties {
        let required = schema.required.contains(name);
        let label = Label::of(field);
        write!(out, "  {} ({}", safe_line(label.title.unwrap_or(name)), describe(field))?;
        writeln!(out, "{})", if required { ", required" } else { "" })?;
        if let Some(description) = label.description {
            writeln!(out, "    {}", safe_line(description))?;
        }
        loop {
            let default = label.default.as_ref().map(|value| format!(" [{}]", safe_line(value)));
            write!(out, "  {}{}: ", safe_line(name), default.unwrap_or_default())?;
            let Some(line) = read_line(input, out)? else { return Ok(None) };
            match read(field, line.trim()) {
                Ok(Some(value)) => {
                    answers.insert(name.clone(), value);
                    break;
                }
                // The library fills in defaults.
                Ok(None) if !required || label.default.is_some() => break,
                Ok(None) => writeln!(out, "    This one is needed.")?,
                Err(fault) => writeln!(out, "    {fault}")?,
            }
        }
    }
    Ok(Some(answers))
}

/// What is shown about a field.
struct Label<'a> {
    title: Option<&'a str>,
    description: Option<&'a str>,
    default: Option<String>,
}

impl<'a> Label<'a> {
    fn of(field: &'a PrimitiveSchema) -> Self {
        let (title, description, default) = match field {
            PrimitiveSchema::String(f) => (&f.title, &f.description, f.default_value.clone()),
            PrimitiveSchema::Number(f) => {
                (&f.title, &f.description, f.default_value.as_ref().map(ToString::to_string))
            }
            PrimitiveSchema::Boolean(f) => (
                &f.title,
                &f.description,
                f.default_value.map(|yes| if yes { "yes" } else { "no" }.to_owned()),
            ),
            PrimitiveSchema::Enum(f) => (&f.title, &f.description, f.default_value.clone()),
            PrimitiveSchema::MultiSelect(f) => {
                (&f.title, &f.description, f.default_value.as_ref().map(|values| values.join(", ")))
            }
            _ => (&None, &None, None),
        };
        Self { title: title.as_deref(), description: description.as_deref(), default }
    }
}

fn describe(field: &PrimitiveSchema) -> String {
    match field {
        PrimitiveSchema::String(field) => match field.format {
            Some(StringFormat::Email) => "an e-mail address".to_owned(),
            Some(StringFormat::Uri) => "a URI".to_owned(),
            Some(StringFormat::Date) => "a date, like 2026-07-28".to_owned(),
            Some(StringFormat::DateTime) => "a date and time, like 2026-07-28T09:30:00Z".to_owned(),
            None => "text".to_owned(),
        },
        PrimitiveSchema::Number(field) => {
            let kind = if field.integer { "a whole number" } else { "a number" };
            match (&field.minimum, &field.maximum) {
                (Some(least), Some(most)) => format!("{kind} from {least} to {most}"),
                (Some(least), None) => format!("{kind} from {least}"),
                (None, Some(most)) => format!("{kind} up to {most}"),
                (None, None) => kind.to_owned(),
            }
        }
        PrimitiveSchema::Boolean(_) => "yes or no".to_owned(),
        PrimitiveSchema::Enum(field) => format!("one of {}", choices(&field.options)),
        PrimitiveSchema::MultiSelect(field) => {
            format!("any of {}, separated by commas", choices(&field.options))
        }
        _ => "something".to_owned(),
    }
}

fn choices(options: &[EnumOption]) -> String {
    let shown = options.iter().map(|option| match &option.title {
        Some(title) if *title != option.value => {
            format!("{} ({})", safe_line(&option.value), safe_line(title))
        }
        _ => safe_line(&option.value),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// An answer, nothing, or what is wrong with it.
fn read(field: &PrimitiveSchema, typed: &str) -> Result<Option<ElicitValue>, String> {
    if typed.is_empty() {
        return Ok(None);
    }
    let value = match field {
        PrimitiveSchema::Number(field) => number(typed, field.integer, &field.minimum, &field.maximum)?,
        PrimitiveSchema::Boolean(_) => match typed.to_lowercase().as_str() {
            "y" | "yes" | "true" | "1" => true.into(),
            "n" | "no" | "false" | "0" => false.into(),
            _ => return Err("Please say yes or no.".to_owned()),
        },
        PrimitiveSchema::Enum(field) => ElicitValue::String(choose(&field.options, typed)?),
        PrimitiveSchema::MultiSelect(field) => {
            let chosen = typed.split(',').map(|one| choose(&field.options, one.trim()));
            ElicitValue::Strings(chosen.collect::<Result<_, _>>()?)
        }
        _ => typed.into(),
    };
    Ok(Some(value))
}

fn number(
    typed: &str,
    integer: bool,
    least: &Option<serde_json::Number>,
    most: &Option<serde_json::Number>,
) -> Result<ElicitValue, String> {
    let number: serde_json::Number = typed.parse().map_err(|_| "That is no number.".to_owned())?;
    let value = number.as_f64().ok_or("That is no number.")?;
    if integer && value.fract() != 0.0 {
        return Err("A whole number, please.".to_owned());
    }
    let within = |bound: &Option<serde_json::Number>, holds: fn(f64, f64) -> bool| {
        bound.as_ref().and_then(serde_json::Number::as_f64).is_none_or(|bound| holds(value, bound))
    };
    if !within(least, |value, least| value >= least) || !within(most, |value, most| value <= most) {
        return Err("That is out of range.".to_owned());
    }
    Ok(ElicitValue::Number(number))
}

fn choose(options: &[EnumOption], typed: &str) -> Result<String, String> {
    let is = |option: &&EnumOption| option.value == typed || option.title.as_deref() == Some(typed);
    options
        .iter()
        .find(is)
        .map(|option| option.value.clone())
        .ok_or_else(|| "That is not among the choices.".to_owned())
}

#[cfg(test)]
mod tests {
    use contexture::model::{BooleanSchema, EnumSchema, NumberSchema, StringSchema};

    use super::*;

    fn schema() -> ElicitSchema {
        ElicitSchema::new()
            .required("name", StringSchema::new().title("Your \u{1b}[31mname"))
            .required("age", NumberSchema::integer().minimum(0).maximum(150))
            .optional("news", BooleanSchema::new().default_value(true))
            .required("color", EnumSchema::new(["red", "green"]))
    }

    fn answer(typed: &str) -> (ElicitAnswer, String) {
        let mut shown = Vec::new();
        let answer = fill(&mut typed.as_bytes(), &mut shown, &schema()).expect("memory does not fail");
        (answer, String::from_utf8(shown).expect("text"))
    }

    #[test]
    fn answers_are_read_by_their_type_and_asked_again() {
        let (answer, shown) = answer("\nAda\nold\n200\n36\n\nblue\ngreen\ny\n");
        let ElicitAnswer::Accept(answers) = answer else { panic!("{shown}") };
        assert_eq!(
            serde_json::json!(answers),
            serde_json::json!({"name": "Ada", "age": 36, "color": "green"})
        );
        for line in [
            "needed",
            "no number",
            "out of range",
            "among the choices",
            "[yes]",
            "whole number from 0 to 150",
        ] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn the_person_decides() {
        assert_eq!(answer("Ada\n3\nno\nred\nn\n").0, ElicitAnswer::Decline);
        assert_eq!(answer("Ada\n3\nno\nred\nc\n").0, ElicitAnswer::Cancel);
        assert_eq!(answer("Ada\n3\n").0, ElicitAnswer::Cancel);
        let edited = answer("Ada\n3\nno\nred\ne\nBob\n4\nyes\nred\ny\n").0;
        assert!(matches!(edited, ElicitAnswer::Accept(answers) if answers["name"] == "Bob".into()));
    }
}
