//! A form on the terminal: one question per field, then what to do with the answers.
//!
//! Nothing is sent before the person has seen all of it and said yes; where all of it is one choice, to choose is to say
//! so. An answer that the server would have to refuse is asked for again at once, and nothing that was typed gets lost. The
//! end of input means that they went away.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use contexture::client::ElicitAnswer;
use contexture::model::{ElicitSchema, ElicitValue, EnumOption, PrimitiveSchema, StringFormat};

use super::choice;
use super::text::safe_line;

type Answers = BTreeMap<String, ElicitValue>;

/// Where questions are written and answers are typed.
pub(crate) struct Sheet<'a> {
    pub(crate) input: &'a mut dyn BufRead,
    pub(crate) out: &'a mut dyn Write,
    /// What every line begins with.
    pub(crate) margin: &'a str,
}

impl Sheet<'_> {
    /// Asks for every field and for the decision. A choice alone is both.
    pub(crate) fn fill(&mut self, schema: &ElicitSchema) -> io::Result<ElicitAnswer> {
        if let Some((name, choices)) = choice::alone(schema) {
            return self.choose(name, choices);
        }
        let mut answers = Answers::new();
        loop {
            if !self.ask_fields(schema, &mut answers)? {
                return Ok(ElicitAnswer::Cancel);
            }
            // Whoever has typed the answers means to send them.
            match self.decide("Send this? [Y]es, [n]o (decline), [c]ancel, [e]dit: ", "ynce", Some('y'))? {
                Some('y') => return Ok(ElicitAnswer::Accept(answers)),
                Some('n') => return Ok(ElicitAnswer::Decline),
                Some('e') => {}
                _ => return Ok(ElicitAnswer::Cancel),
            }
        }
    }

    /// A yes, a no, or neither. There is no answer by default: nothing was typed that could be meant.
    pub(crate) fn consent(&mut self) -> io::Result<ElicitAnswer> {
        Ok(match self.decide("Agree? [y]es, [n]o (decline), [c]ancel: ", "ync", None)? {
            Some('y') => ElicitAnswer::Accept(Answers::new()),
            Some('n') => ElicitAnswer::Decline,
            _ => ElicitAnswer::Cancel,
        })
    }

    /// Asks until it hears one of the letters; `None` at the end of input.
    pub(super) fn decide(
        &mut self,
        question: &str,
        letters: &str,
        default: Option<char>,
    ) -> io::Result<Option<char>> {
        loop {
            write!(self.out, "{}  {question}", self.margin)?;
            let Some(line) = self.read_line()? else { return Ok(None) };
            let letter = line.trim().to_lowercase().chars().next().or(default);
            if let Some(letter) = letter.filter(|letter| letters.contains(*letter)) {
                return Ok(Some(letter));
            }
        }
    }

    /// `None` at the end of input.
    pub(super) fn read_line(&mut self) -> io::Result<Option<String>> {
        self.out.flush()?;
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            writeln!(self.out)?;
            return Ok(None);
        }
        Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// False at the end of input. Answers that there are already are kept if nothing else is typed.
    fn ask_fields(&mut self, schema: &ElicitSchema, answers: &mut Answers) -> io::Result<bool> {
        for (name, field) in &schema.properties {
            let required = schema.required.contains(name);
            let label = Label::of(field);
            write!(self.out, "{}  {} (", self.margin, safe_line(label.title.unwrap_or(name)))?;
            writeln!(self.out, "{}{})", describe(field), if required { ", required" } else { "" })?;
            if let Some(description) = label.description {
                writeln!(self.out, "{}    {}", self.margin, safe_line(description))?;
            }
            let kept = answers.get(name).map(typed).or(label.default);
            if !self.ask_field((name, field), required, kept, answers)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn ask_field(
        &mut self,
        (name, field): (&String, &PrimitiveSchema),
        required: bool,
        kept: Option<String>,
        answers: &mut Answers,
    ) -> io::Result<bool> {
        let default = kept.as_ref().map(|value| format!(" [{}]", safe_line(value))).unwrap_or_default();
        loop {
            write!(self.out, "{}  {}{default}: ", self.margin, safe_line(name))?;
            let Some(line) = self.read_line()? else { return Ok(false) };
            let fault = match read(field, line.trim()) {
                Ok(Some(value)) => {
                    answers.insert(name.clone(), value);
                    return Ok(true);
                }
                // The library fills in defaults.
                Ok(None) if !required || kept.is_some() => return Ok(true),
                Ok(None) => "This one is needed.".to_owned(),
                Err(fault) => fault,
            };
            writeln!(self.out, "{}    {fault}", self.margin)?;
        }
    }
}

/// An answer as it was typed.
fn typed(value: &ElicitValue) -> String {
    match value {
        ElicitValue::String(text) => text.clone(),
        ElicitValue::Strings(chosen) => chosen.join(", "),
        ElicitValue::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        other => serde_json::to_value(other).map(|value| value.to_string()).unwrap_or_default(),
    }
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
        PrimitiveSchema::String(field) => {
            let kind = match field.format {
                Some(StringFormat::Email) => "an e-mail address",
                Some(StringFormat::Uri) => "a URI",
                Some(StringFormat::Date) => "a date, like 2026-07-28",
                Some(StringFormat::DateTime) => "a date and time, like 2026-07-28T09:30:00Z",
                None => "text",
            };
            match between(&field.min_length, &field.max_length) {
                Some(range) => format!("{kind} of {range} characters"),
                None => kind.to_owned(),
            }
        }
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
            let range = between(&field.min_items, &field.max_items).unwrap_or_else(|| "any".to_owned());
            format!("{range} of {}, separated by commas", choices(&field.options))
        }
        _ => "something".to_owned(),
    }
}

fn between(least: &Option<u64>, most: &Option<u64>) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
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
        PrimitiveSchema::Number(_) => {
            let number: serde_json::Number = typed.parse().map_err(|_| "That is no number.".to_owned())?;
            ElicitValue::Number(number)
        }
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
    if fits(field, &value) { Ok(Some(value)) } else { Err(format!("That is not {}.", describe(field))) }
}

/// Format, range and length, as the field's own schema has them. What cannot be checked here is left to the
/// library, which checks the whole form.
fn fits(field: &PrimitiveSchema, value: &ElicitValue) -> bool {
    let (Ok(schema), Ok(value)) = (serde_json::to_value(field), serde_json::to_value(value)) else {
        return true;
    };
    let validator = jsonschema::options().offline().should_validate_formats(true).build(&schema);
    validator.map_or(true, |validator| validator.is_valid(&value))
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
    use contexture::model::{BooleanSchema, EnumSchema, MultiSelectSchema, NumberSchema, StringSchema};

    use super::*;

    fn schema() -> ElicitSchema {
        ElicitSchema::new()
            .required("name", StringSchema::new().title("Your \u{1b}[31mname"))
            .required("age", NumberSchema::integer().minimum(0).maximum(150))
            .optional("news", BooleanSchema::new().default_value(true))
            .required("color", EnumSchema::new(["red", "green"]))
            .optional("mail", StringSchema::new().format(StringFormat::Email))
    }

    fn answer(typed: &str) -> (ElicitAnswer, String) {
        let mut shown = Vec::new();
        let mut sheet = Sheet { input: &mut typed.as_bytes(), out: &mut shown, margin: "   " };
        let answer = sheet.fill(&schema()).expect("memory does not fail");
        (answer, String::from_utf8(shown).expect("text"))
    }

    #[test]
    fn answers_are_read_by_their_type_and_asked_again() {
        let (answer, shown) = answer("\nAda\nold\n200\n1.5\n36\n\nblue\ngreen\nx\na@example.org\ny\n");
        let ElicitAnswer::Accept(answers) = answer else { panic!("{shown}") };
        assert_eq!(
            serde_json::json!(answers),
            serde_json::json!({"name": "Ada", "age": 36, "color": "green", "mail": "a@example.org"})
        );
        for line in [
            "needed",
            "no number",
            "That is not a whole number from 0 to 150",
            "That is not an e-mail address",
            "among the choices",
            "[yes]",
        ] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        assert!(!shown.contains('\u{1b}'), "{shown}");
        assert!(shown.split_inclusive('\n').all(|line| line.starts_with("   ")), "{shown}");
    }

    #[test]
    fn the_person_decides() {
        const FILLED: &str = "Ada\n3\nno\nred\n\n";
        let decided = |typed: &str| answer(&format!("{FILLED}{typed}")).0;
        assert_eq!(decided("n\n"), ElicitAnswer::Decline);
        assert_eq!(decided("what?\nc\n"), ElicitAnswer::Cancel);
        assert_eq!(answer("Ada\n3\n").0, ElicitAnswer::Cancel);
        assert!(matches!(decided("\n"), ElicitAnswer::Accept(answers) if answers["name"] == "Ada".into()));
        // What was typed before is kept, unless something else is.
        let edited = decided("e\nBob\n\n\n\n\n\n");
        let ElicitAnswer::Accept(answers) = edited else { panic!("{edited:?}") };
        let wanted = serde_json::json!({"name": "Bob", "age": 3, "news": false, "color": "red"});
        assert_eq!(serde_json::json!(answers), wanted);
    }

    #[test]
    fn nobody_agrees_to_a_url_by_accident() {
        let mut out = Vec::new();
        let mut sheet = Sheet { input: &mut "\n\ny\n".as_bytes(), out: &mut out, margin: "" };
        assert!(matches!(sheet.consent(), Ok(ElicitAnswer::Accept(_))));
        assert_eq!(String::from_utf8(out).expect("text").matches("Agree?").count(), 3);
    }

    #[test]
    fn formats_and_lengths_are_checked_as_they_are_typed() {
        let text = |format| PrimitiveSchema::from(StringSchema::new().format(format));
        let short = PrimitiveSchema::from(StringSchema::new().min_length(2_u64).max_length(3_u64));
        let several = PrimitiveSchema::from(MultiSelectSchema::new(["a", "b", "c"]).max_items(2_u64));
        let cases = [
            (text(StringFormat::Email), "ada@example.org", "ada"),
            (text(StringFormat::Uri), "https://example.org/", "not a uri"),
            (text(StringFormat::Date), "2024-02-29", "2023-02-29"),
            (text(StringFormat::DateTime), "2024-02-29T09:30:00Z", "2024-02-29"),
            (short, "abc", "abcd"),
            (several, "a, c", "a, b, c"),
        ];
        for (field, right, wrong) in cases {
            assert!(read(&field, right).is_ok(), "{right}");
            assert!(read(&field, wrong).is_err(), "{wrong}");
        }
    }
}
