//! Tools that ask with forms whose fields are checked one by one: defaults, and every kind of choice.

use contexture::model::{
    BooleanSchema, ElicitSchema, EnumSchema, MultiSelectSchema, NumberSchema, StringSchema,
};
use contexture::{Context, Error, Server, tool};

use super::asks::response;

pub(super) fn register(server: Server) -> Server {
    server
        .tool(
            tool("test_elicitation_sep1034_defaults")
                .description("Asks with a form that is filled in already.")
                .handler(defaults),
        )
        .tool(
            tool("test_elicitation_sep1330_enums")
                .description("Asks with every kind of choice.")
                .handler(choices),
        )
}

async fn defaults(context: Context) -> Result<String, Error> {
    let number = |value: f64| serde_json::Number::from_f64(value).unwrap_or_else(|| 0.into());
    let form = ElicitSchema::new()
        .optional("name", StringSchema::new().description("Your name").default_value("John Doe"))
        .optional("age", NumberSchema::integer().description("Your age").default_value(30))
        .optional("score", NumberSchema::new().description("Your score").default_value(number(95.5)))
        .optional(
            "status",
            EnumSchema::new(["active", "inactive", "pending"])
                .description("Your status")
                .default_value("active"),
        )
        .optional("verified", BooleanSchema::new().description("Are you verified").default_value(true));
    let answer = context.elicit_form("defaults", "Please look through these values.", form).await;
    response(answer, "Elicitation completed")
}

async fn choices(context: Context) -> Result<String, Error> {
    const PLAIN: [&str; 3] = ["option1", "option2", "option3"];
    const TITLED: [(&str, &str); 3] =
        [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")];
    const NAMED: [(&str, &str); 3] =
        [("opt1", "Option One"), ("opt2", "Option Two"), ("opt3", "Option Three")];
    let form = ElicitSchema::new()
        .optional("untitledSingle", EnumSchema::new(PLAIN).description("One of these"))
        .optional("titledSingle", EnumSchema::new(TITLED).description("One of these, with titles"))
        .optional("legacyEnum", EnumSchema { legacy_names: true, ..EnumSchema::new(NAMED) })
        .optional("untitledMulti", MultiSelectSchema::new(PLAIN).description("Some of these"))
        .optional("titledMulti", MultiSelectSchema::new(TITLED).description("Some of these, with titles"));
    let answer = context.elicit_form("choices", "Please choose.", form).await;
    response(answer, "Elicitation completed")
}
