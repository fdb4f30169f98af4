//! Values whose texts are written with escapes in place of invisible characters.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use vramscope_core::invisible;

/// A value, all texts of which are escaped while it is written.
pub(super) struct Harmless<'a, T: ?Sized>(pub(super) &'a T);

impl<T: Serialize + ?Sized> Serialize for Harmless<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Escaping(to))
    }
}

/// Escapes texts, and hands everything else on.
struct Escaping<S>(S);

/// Methods that hand a plain value on.
macro_rules! plain {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {$(
        fn $method(self, $($name: $type),*) -> Result<S::Ok, S::Error> {
            self.0.$method($($name),*)
        }
    )*};
}

/// Methods that begin a compound value.
macro_rules! begun {
    ($($method:ident($($name:ident: $type:ty),*) -> $kind:ident;)*) => {$(
        fn $method(self, $($name: $type),*) -> Result<Escaping<S::$kind>, S::Error> {
            self.0.$method($($name),*).map(Escaping)
        }
    )*};
}

impl<S: Serializer> Serializer for Escaping<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Escaping<S::SerializeSeq>;
    type SerializeTuple = Escaping<S::SerializeTuple>;
    type SerializeTupleStruct = Escaping<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Escaping<S::SerializeTupleVariant>;
    type SerializeMap = Escaping<S::SerializeMap>;
    type SerializeStruct = Escaping<S::SerializeStruct>;
    type SerializeStructVariant = Escaping<S::SerializeStructVariant>;

    fn serialize_str(self, text: &str) -> Result<S::Ok, S::Error> {
        self.0.serialize_str(&invisible::escaped(text))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Harmless(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Harmless(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        number: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = Harmless(value);
        self.0
            .serialize_newtype_variant(name, number, variant, &value)
    }

    plain! {
        serialize_bool(value: bool);
        serialize_i8(value: i8);
        serialize_i16(value: i16);
        serialize_i32(value: i32);
        serialize_i64(value: i64);
        serialize_u8(value: u8);
        serialize_u16(value: u16);
        serialize_u32(value: u32);
        serialize_u64(value: u64);
        serialize_f32(value: f32);
        serialize_f64(value: f64);
        serialize_char(value: char);
        serialize_bytes(value: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, number: u32, variant: &'static str);
    }

    begun! {
        serialize_seq(length: Option<usize>) -> SerializeSeq;
        serialize_tuple(length: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, number: u32, variant: &'static str, length: usize)
            -> SerializeTupleVariant;
        serialize_map(length: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, number: u32, variant: &'static str, length: usize)
            -> SerializeStructVariant;
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// What each kind of compound value does with its parts.
macro_rules! parts {
    ($($kind:ident: $($add:ident($($name:ident: $type:ty)?)),*;)*) => {$(
        impl<S: $kind> $kind for Escaping<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            $(fn $add<T: Serialize + ?Sized>(
                &mut self,
                $($name: $type,)?
                part: &T,
            ) -> Result<(), S::Error> {
                self.0.$add($($name,)? &Harmless(part))
            })*

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )*};
}

parts! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeMap: serialize_key(), serialize_value();
    SerializeStruct: serialize_field(name: &'static str);
    SerializeStructVariant: serialize_field(name: &'static str);
}
