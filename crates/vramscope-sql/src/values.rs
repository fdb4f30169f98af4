//! The values of an answer, without Arrow's types.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray as _, BooleanArray, Decimal128Array, Float64Array, Int64Array,
    RecordBatch, StringArray, UInt64Array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::Result;
use serde_json::Value as Json;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Unknown or absent.
    None,
    /// True or false.
    Flag(bool),
    /// An integer. Sums may exceed 64 bits.
    Integer(i128),
    /// A floating-point number.
    Real(f64),
    /// A text; also a time (in UTC, with microseconds) and values of no other kind.
    Text(String),
    /// A list or a structure.
    Nested(Json),
}

/// The columns of a batch, in the few types that values have.
pub(crate) struct Cells(Vec<Cell>);

enum Cell {
    Flags(BooleanArray),
    Signed(Int64Array),
    Unsigned(UInt64Array),
    Sums(Decimal128Array),
    Reals(Float64Array),
    Texts(StringArray),
    Nested(ArrayRef),
}

impl Cells {
    pub(crate) fn of(batch: &RecordBatch) -> Result<Self> {
        let columns = batch.columns().iter().map(Cell::of);
        columns.collect::<Result<_>>().map(Self)
    }

    pub(crate) fn fill(&self, row: usize, values: &mut Vec<Value>) {
        values.clear();
        values.extend(self.0.iter().map(|cell| cell.value(row)));
    }
}

impl Cell {
    fn of(array: &ArrayRef) -> Result<Self> {
        let to = |kind| cast(array, &kind);
        Ok(match array.data_type() {
            DataType::Boolean => Self::Flags(array.as_boolean().clone()),
            DataType::Null => Self::Texts(StringArray::new_null(array.len())),
            DataType::Decimal128(_, 0) => {
                Self::Sums(array.as_primitive::<Decimal128Type>().clone())
            }
            DataType::UInt64 => Self::Unsigned(array.as_primitive::<UInt64Type>().clone()),
            kind if kind.is_integer() => {
                Self::Signed(to(DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            kind if kind.is_numeric() => {
                Self::Reals(to(DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            DataType::Dictionary(_, values) => Self::of(&cast(array, values)?)?,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Self::Texts(to(DataType::Utf8)?.as_string::<i32>().clone())
            }
            kind if kind.is_nested() => Self::Nested(array.clone()),
            _ => Self::Texts(texts(array)?),
        })
    }

    fn value(&self, row: usize) -> Value {
        match self {
            Self::Flags(array) if array.is_valid(row) => Value::Flag(array.value(row)),
            Self::Signed(array) if array.is_valid(row) => Value::Integer(array.value(row).into()),
            Self::Unsigned(array) if array.is_valid(row) => Value::Integer(array.value(row).into()),
            Self::Sums(array) if array.is_valid(row) => Value::Integer(array.value(row)),
            Self::Reals(array) if array.is_valid(row) => Value::Real(array.value(row)),
            Self::Texts(array) if array.is_valid(row) => Value::Text(array.value(row).to_owned()),
            Self::Nested(array) if array.is_valid(row) => Value::Nested(json(array, row)),
            _ => Value::None,
        }
    }
}

/// Values of other types as Arrow writes them: times as in RFC 3339.
fn texts(array: &ArrayRef) -> Result<StringArray> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
    let text = |row| {
        array
            .is_valid(row)
            .then(|| formatter.value(row).to_string())
    };
    Ok((0..array.len()).map(text).collect())
}

/// A list or structure as JSON; its depth is that of its type, which the query's text bounds.
fn json(array: &ArrayRef, row: usize) -> Json {
    let items = |items: &ArrayRef| {
        let cell = Cell::of(items).ok();
        let item = |row| match cell.as_ref().map(|cell| cell.value(row)) {
            None | Some(Value::None) => Json::Null,
            Some(Value::Flag(flag)) => flag.into(),
            Some(Value::Integer(number)) => i64::try_from(number)
                .map(Json::from)
                .or_else(|_| u64::try_from(number).map(Json::from))
                .unwrap_or_else(|_| number.to_string().into()),
            Some(Value::Real(number)) => number.into(),
            Some(Value::Text(text)) => text.into(),
            Some(Value::Nested(nested)) => nested,
        };
        (0..items.len()).map(item).collect::<Vec<_>>()
    };
    match array.data_type() {
        DataType::List(_) => items(&array.as_list::<i32>().value(row)).into(),
        DataType::LargeList(_) => items(&array.as_list::<i64>().value(row)).into(),
        DataType::FixedSizeList(..) => items(&array.as_fixed_size_list().value(row)).into(),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter();
            let values = columns.map(|column| items(&column.slice(row, 1)).remove(0));
            let names = fields.iter().map(|field| field.name().clone());
            Json::Object(names.zip(values).collect())
        }
        _ => {
            let options = FormatOptions::default();
            let formatter = ArrayFormatter::try_new(array.as_ref(), &options);
            formatter.map_or(Json::Null, |it| it.value(row).to_string().into())
        }
    }
}
