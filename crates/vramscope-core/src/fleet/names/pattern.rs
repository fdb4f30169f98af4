//! Patterns of names: text with placeholders.

/// A placeholder: `{rank}`, `{step}`, `{pid}`, `{time}` or `{any}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Rank,
    Step,
    Process,
    Time,
    Any,
}

impl Field {
    fn of(name: &str) -> Self {
        match name {
            "rank" => Self::Rank,
            "step" => Self::Step,
            "pid" => Self::Process,
            "time" => Self::Time,
            _ => Self::Any,
        }
    }

    fn takes(self, byte: u8) -> bool {
        match self {
            Self::Rank | Self::Step | Self::Process => byte.is_ascii_digit(),
            Self::Time => byte.is_ascii_digit() || b"-:._TZ".contains(&byte),
            Self::Any => byte != b'/',
        }
    }

    fn least(self) -> usize {
        usize::from(self != Self::Any)
    }
}

/// The values of the placeholders in `name`; `None` if the pattern does not fit the whole name. Earlier placeholders are
/// as long as possible. Case is ignored.
pub(super) fn matches<'n>(pattern: &str, name: &'n str) -> Option<Vec<(Field, &'n str)>> {
    let mut fields = Vec::new();
    fit(pattern, name, &mut fields).then_some(fields)
}

fn fit<'n>(pattern: &str, name: &'n str, fields: &mut Vec<(Field, &'n str)>) -> bool {
    let (text, rest) = pattern.split_once('{').unwrap_or((pattern, ""));
    let Some((begin, name)) = name.split_at_checked(text.len()) else {
        return false;
    };
    if !begin.eq_ignore_ascii_case(text) {
        return false;
    }
    let Some((field, rest)) = rest.split_once('}') else {
        return name.is_empty();
    };
    let field = Field::of(field);
    let most = name.bytes().take_while(|&byte| field.takes(byte)).count();
    let ends = (field.least()..=most).rev();
    for end in ends.filter(|&end| name.is_char_boundary(end)) {
        fields.push((field, &name[..end]));
        if fit(rest, &name[end..], fields) {
            return true;
        }
        fields.pop();
    }
    false
}
