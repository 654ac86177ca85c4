//! One of everything that we send, with every member set.

use std::collections::BTreeMap;

use contexture_core::model::*;
use serde_json::{Value, json};

pub(super) fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        other => panic!("not an object: {other}"),
    }
}

pub(super) fn meta() -> Meta {
    let mut meta = Meta::new();
    meta.insert_custom("com.example/note", "kept").expect("a custom key");
    meta
}

fn icons() -> Vec<Icon> {
    vec![
        Icon::new("https://example.com/i.png")
            .mime_type("image/png")
            .sizes(vec!["48x48".to_owned()])
            .theme(IconTheme::Dark),
    ]
}

pub(super) fn annotations() -> Annotations {
    let annotations = Annotations::new().audience(vec![Role::User, Role::Assistant]);
    annotations.last_modified("2026-01-01T00:00:00Z").priority(0.5).expect("in range")
}

pub(super) fn implementation() -> Implementation {
    let implementation = Implementation::new("sample", "1.0.0").title("Sample").description("A sample");
    implementation.icons(icons()).website_url("https://example.com")
}

pub(super) fn resource() -> Resource {
    Resource::new("file:///a.txt", "a")
        .title("A")
        .description("The letter")
        .icons(icons())
        .mime_type("text/plain")
        .size(3_u64)
        .annotations(annotations())
        .meta(meta())
}

pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new("file:///{name}.txt", "letters")
        .title("Letters")
        .description("All of them")
        .icons(icons())
        .mime_type("text/plain")
        .annotations(annotations())
        .meta(meta())
}

/// A tool whose output is an array, which only the newest revision has.
pub(super) fn tool() -> Tool {
    let input =
        object(json!({ "properties": { "n": { "type": "integer" }, "any": true }, "required": ["n"] }));
    Tool::new("count", input)
        .title("Count")
        .description("Counts")
        .icons(icons())
        .output_schema(object(json!({ "type": "array", "items": { "type": "integer" } })))
        .annotations(ToolAnnotations::new().read_only_hint(true))
        .execution(ToolExecution { task_support: Some(TaskSupport::Optional) })
        .meta(meta())
}

pub(super) fn prompt() -> Prompt {
    let argument = PromptArgument::new("who").title("Who").description("Whom to greet").required(true);
    Prompt::new("greet").title("Greet").description("Greets").icons(icons()).argument(argument).meta(meta())
}

/// Every kind of block, annotated.
pub(super) fn content() -> Vec<Content> {
    let contents = ResourceContents::text("file:///a.txt", "abc").mime_type("text/plain").meta(meta());
    vec![
        Content::Text(TextContent::new("text").annotations(annotations()).meta(meta())),
        Content::Image(
            ImageContent::new(Blob::encode([1, 2, 3]), "image/png").annotations(annotations()).meta(meta()),
        ),
        Content::Audio(
            AudioContent::new(Blob::encode([1; 1234]), "audio/wav").annotations(annotations()).meta(meta()),
        ),
        Content::ResourceLink(resource()),
        Content::Resource(EmbeddedResource::new(contents).annotations(annotations()).meta(meta())),
        Content::resource(ResourceContents::blob("file:///b", [0, 255])),
    ]
}

pub(super) fn call_result() -> CallToolResult {
    let structured = CallToolResult::structured(&[1, 2, 3]).expect("encodes");
    CallToolResult { content: content(), is_error: true, meta: Some(meta()), ..structured }
}

pub(super) fn client_capabilities() -> ClientCapabilities {
    let mut capabilities = client_capabilities_now();
    capabilities.tasks = Some(tasks(json!({ "sampling": { "createMessage": {} } })));
    capabilities.roots = Some(ListChangedCapability::announced());
    capabilities
}

fn client_capabilities_now() -> ClientCapabilities {
    ClientCapabilities {
        roots: Some(ListChangedCapability::default()),
        sampling: Some(SamplingCapability {
            tools: Some(JsonObject::new()),
            context: Some(JsonObject::new()),
            ..Default::default()
        }),
        elicitation: Some(ElicitationCapability {
            form: Some(JsonObject::new()),
            url: Some(JsonObject::new()),
            ..Default::default()
        }),
        experimental: Some(object(json!({ "x": {} }))),
        extensions: Some(object(json!({ "com.example/x": {} }))),
        ..Default::default()
    }
}

fn tasks(requests: Value) -> TasksCapability {
    TasksCapability {
        list: Some(JsonObject::new()),
        cancel: Some(JsonObject::new()),
        requests: Some(object(requests)),
        other: JsonObject::new(),
    }
}

pub(super) fn server_capabilities() -> ServerCapabilities {
    ServerCapabilities {
        tools: Some(ListChangedCapability::announced()),
        resources: Some(ResourcesCapability {
            subscribe: Some(true),
            list_changed: Some(true),
            other: JsonObject::new(),
        }),
        prompts: Some(ListChangedCapability::announced()),
        completions: Some(JsonObject::new()),
        logging: Some(JsonObject::new()),
        tasks: Some(tasks(json!({ "tools": { "call": {} } }))),
        experimental: Some(object(json!({ "x": {} }))),
        extensions: Some(object(json!({ "com.example/x": {} }))),
        other: JsonObject::new(),
    }
}

/// Every kind of field, each with everything that it may have.
pub(super) fn form() -> ElicitSchema {
    let text = StringSchema::new().title("Mail").description("Yours").min_length(3_u64).max_length(99_u64);
    let mut schema = ElicitSchema::new()
        .required("mail", text.format(StringFormat::Email).default_value("a@b.c"))
        .optional("age", NumberSchema::integer().title("Age").minimum(0).maximum(150).default_value(7))
        .optional("sure", BooleanSchema::new().title("Sure?").default_value(true))
        .optional("plain", EnumSchema::new(["a", "b"]).default_value("a"))
        .optional("named", EnumSchema::new([("r", "Red"), ("g", "Green")]).title("Colour").default_value("r"))
        .optional(
            "many",
            MultiSelectSchema::new(["x", "y"]).min_items(1_u64).default_value(vec!["x".to_owned()]),
        )
        .optional("named_many", MultiSelectSchema::new([("x", "Ex"), ("y", "Why")]).max_items(2_u64));
    schema.dialect = Some("https://json-schema.org/draft/2020-12/schema".to_owned());
    schema
}

pub(super) fn elicit_form() -> ElicitParams {
    match ElicitParams::form("Who are you?", form()) {
        ElicitParams::Form(form) => {
            let task = Some(TaskMetadata { ttl: Some(1000) });
            ElicitParams::Form(ElicitFormParams {
                mode: Some(FormMode::Form),
                task,
                meta: Some(meta()),
                ..form
            })
        }
        other => other,
    }
}

/// A conversation with calls of tools and several blocks in a message.
pub(super) fn create_message() -> CreateMessageParams {
    let call = SamplingContent::ToolUse(ToolUseContent {
        id: "1".to_owned(),
        name: "count".to_owned(),
        input: object(json!({ "n": 3 })),
        meta: Some(meta()),
    });
    let answer = SamplingContent::ToolResult(ToolResultContent {
        tool_use_id: "1".to_owned(),
        content: content(),
        structured_content: Some(json!([1, 2, 3])),
        is_error: Some(false),
        meta: Some(meta()),
    });
    let audio = SamplingContent::Audio(AudioContent::new(Blob::encode([1; 1234]), "audio/wav"));
    let image = SamplingContent::Image(ImageContent::new(Blob::encode([1]), "image/png").meta(meta()));
    let first = SamplingMessage { meta: Some(meta()), ..SamplingMessage::user("Count.") };
    let messages = vec![
        first,
        SamplingMessage::assistant(vec![SamplingContent::text("Well…"), call]),
        SamplingMessage::user(vec![answer]),
        SamplingMessage::user(audio),
        SamplingMessage::user(image),
    ];
    let mut params = CreateMessageParams::new(messages, 100)
        .model_preferences(ModelPreferences::new().hint("small").speed_priority(1.0).expect("in range"))
        .system_prompt("Be brief.")
        .include_context(IncludeContext::None)
        .temperature(0.5)
        .stop_sequences(vec!["END".to_owned()])
        .metadata(object(json!({ "k": 1 })))
        .tools(vec![tool()])
        .tool_choice(ToolChoice { mode: Some(ToolChoiceMode::Auto) })
        .meta(meta());
    params.task = Some(TaskMetadata { ttl: None });
    params
}

pub(super) fn create_message_result() -> CreateMessageResult {
    let image = SamplingContent::Image(ImageContent::new(Blob::encode([1]), "image/png"));
    let blocks = vec![SamplingContent::text("Three."), image];
    CreateMessageResult::new("small-1", blocks).stop_reason("endTurn").meta(meta())
}

pub(super) fn elicit_result() -> ElicitResult {
    let answers = [("mail", ElicitValue::from("a@b.c")), ("age", 7.into()), ("sure", true.into())];
    let mut content: BTreeMap<String, ElicitValue> =
        answers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    content.insert("many".to_owned(), ElicitValue::Strings(vec!["x".to_owned(), "y".to_owned()]));
    ElicitResult { meta: Some(meta()), ..ElicitResult::accept(content) }
}

pub(super) fn task() -> Task {
    Task {
        task_id: "t".to_owned(),
        status: TaskStatus::Working,
        status_message: Some("Busy".to_owned()),
        created_at: "2026-01-01T00:00:00Z".to_owned(),
        last_updated_at: "2026-01-01T00:00:01Z".to_owned(),
        ttl: None,
        poll_interval: Some(500),
    }
}
