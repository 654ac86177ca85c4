//! What the environment says about traces.

use contexture_host::operations::Settings;

fn settings(variables: &[(&str, &str)]) -> Result<bool, String> {
    let of =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Settings::from_variables(of).map(|found| found.is_some())
}

#[test]
fn an_endpoint_switches_traces_on_and_three_things_switch_them_off() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    assert_eq!(settings(&[]), Ok(false));
    assert_eq!(settings(&[endpoint]), Ok(true));
    assert_eq!(settings(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4318/x")]), Ok(true));
    assert_eq!(settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), Ok(false));
    assert_eq!(settings(&[endpoint, ("OTEL_SDK_DISABLED", "true")]), Ok(false));
    assert_eq!(settings(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]), Ok(false));
}

#[test]
fn what_cannot_be_done_is_said_without_a_secret() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    let grpc = settings(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).expect_err("not spoken");
    assert!(grpc.contains("http/json"), "{grpc}");
    settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x")]).expect_err("no way to go");
    let header =
        settings(&[endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=hunter2%0a")]).expect_err("no header");
    assert!(header.contains("x-key") && !header.contains("hunter2"), "{header}");
}
