//! Numbers of JSON compared exactly, as decimals.
//!
//! No floating point: two integers that a double cannot tell apart are different here.

/// The largest integer that every peer can hold exactly.
const LARGEST: i64 = (1 << 53) - 1;

/// A number as sign, significant digits (no zero at either end) and power of ten.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: String,
    power: i64,
}

impl Decimal {
    /// Reads a number in JSON's grammar; none also if its exponent is absurd.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (rest, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if !is_digits(whole) || leading_zero || fraction.is_some_and(|fraction| !is_digits(fraction)) {
            return None;
        }
        let fraction = fraction.unwrap_or_default();
        let power =
            exponent.map_or(Some(0), parse_exponent)?.checked_sub(i64::try_from(fraction.len()).ok()?)?;

        let digits = [whole, fraction].concat();
        let kept = digits.trim_end_matches('0');
        let power = power.checked_add(i64::try_from(digits.len() - kept.len()).ok()?)?;
        let digits = kept.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Self { negative: false, digits: String::new(), power: 0 });
        }
        Some(Self { negative, digits: digits.to_owned(), power })
    }

    pub(super) fn is_integer(&self) -> bool {
        self.power >= 0
    }

    /// The number as an integer, if it is one that every peer can hold.
    pub(super) fn to_safe_integer(&self) -> Option<i64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let power = u32::try_from(self.power).ok()?;
        let size = self.digits.parse::<i64>().ok()?.checked_mul(10i64.checked_pow(power)?)?;
        (size <= LARGEST).then_some(if self.negative { -size } else { size })
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse_exponent(text: &str) -> Option<i64> {
    if !is_digits(text.strip_prefix(['+', '-']).unwrap_or(text)) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(text: &str) -> Option<i64> {
        Decimal::parse(text)?.to_safe_integer()
    }

    #[test]
    fn equal_numbers_are_equal_however_they_are_written() {
        let table = [
            ("42", "42.0"),
            ("42", "4.2e1"),
            ("42", "4200E-2"),
            ("0", "-0"),
            ("0", "0e99"),
            ("-1", "-1.000"),
            ("1e400", "10e399"),
        ];
        for (left, right) in table {
            assert!(Decimal::parse(left).is_some(), "{left}");
            assert_eq!(Decimal::parse(left), Decimal::parse(right), "{left} {right}");
        }
    }

    #[test]
    fn different_numbers_differ_even_where_a_double_would_not() {
        let table = [
            ("9007199254740993", "9007199254740992"),
            ("1", "-1"),
            ("1", "10"),
            ("0.1", "1"),
            ("100", "101"),
        ];
        for (left, right) in table {
            assert_ne!(Decimal::parse(left), Decimal::parse(right), "{left} {right}");
        }
    }

    #[test]
    fn only_the_grammar_of_json() {
        for text in [
            "", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1e++1", "0x10", "1_0", " 1", "1 ", "NaN",
            "٣",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(Decimal::parse("1e99999999999999999999"), None);
        assert_eq!(Decimal::parse(&format!("1.5e{}", i64::MIN)), None);
    }

    #[test]
    fn integers_up_to_53_bits() {
        assert_eq!(integer("9007199254740991"), Some(LARGEST));
        assert_eq!(integer("-9007199254740991.0"), Some(-LARGEST));
        assert_eq!(integer("9007199254740992"), None);
        assert_eq!(integer("-9007199254740992"), None);
        assert_eq!(integer("1152921504606846976"), None);
        assert_eq!(integer("1e18"), None);
        assert_eq!(integer("1e999999"), None);
        assert_eq!(integer("1e15"), Some(1_000_000_000_000_000));
        assert_eq!(integer("-0.0"), Some(0));
        assert_eq!(integer("0.5"), None);
    }
}
