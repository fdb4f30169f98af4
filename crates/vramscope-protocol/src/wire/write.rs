//! Writing messages.

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use vramscope_core::invisible;

use super::{Never, not_plain};

/// Bytes that grow.
pub(super) struct Writer {
    bytes: Vec<u8>,
    /// Whether invisible characters are written as escapes.
    escapes: bool,
}

impl Writer {
    pub(super) fn plain() -> Self {
        Self {
            bytes: Vec::new(),
            escapes: false,
        }
    }

    pub(super) fn harmless() -> Self {
        Self {
            bytes: Vec::new(),
            escapes: true,
        }
    }

    pub(super) fn written<T: Serialize>(mut self, message: &T) -> Vec<u8> {
        let Ok(()) = message.serialize(&mut self);
        self.bytes
    }

    // Not inlined, nor the two below: each is called for every field of every type.
    #[inline(never)]
    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    #[inline(never)]
    fn four(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    #[inline(never)]
    fn eight(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        // A message is far smaller than 4 GiB, which is all the memory of a wasm module.
        self.four(length as u32);
    }

    fn text(&mut self, text: &str) {
        if self.escapes {
            let shown = invisible::escaped(text);
            self.plain_text(&shown);
        } else {
            self.plain_text(text);
        }
    }

    fn plain_text(&mut self, text: &str) {
        self.length(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

impl Serializer for &mut Writer {
    type Ok = ();
    type Error = Never;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Result<(), Never> {
        self.serialize_u8(value.into())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Never> {
        self.serialize_u8(value.cast_unsigned())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Never> {
        self.serialize_u16(value.cast_unsigned())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Never> {
        self.serialize_u32(value.cast_unsigned())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Never> {
        self.serialize_u64(value.cast_unsigned())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Never> {
        self.byte(value);
        Ok(())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Never> {
        self.serialize_u32(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Never> {
        self.four(value);
        Ok(())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Never> {
        self.eight(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Never> {
        self.serialize_u32(value.to_bits())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Never> {
        self.serialize_u64(value.to_bits())
    }

    fn serialize_char(self, value: char) -> Result<(), Never> {
        self.serialize_u32(value.into())
    }

    fn serialize_str(self, value: &str) -> Result<(), Never> {
        self.text(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Never> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Never> {
        self.serialize_u8(0)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Never> {
        self.byte(1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Never> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Never> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
    ) -> Result<(), Never> {
        self.serialize_u32(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        self.four(variant);
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Never> {
        self.length(length.unwrap_or_else(|| not_plain()));
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Never> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Never> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Never> {
        self.four(variant);
        Ok(self)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self, Never> {
        self.serialize_seq(length)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Never> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Never> {
        self.four(variant);
        Ok(self)
    }
}

/// What each kind of compound does with its parts: it writes them one after the other, and leaves none out.
macro_rules! parts {
    ($($kind:ident: $add:ident($($name:ident: $type:ty, $skip:ident)?);)*) => {$(
        impl $kind for &mut Writer {
            type Ok = ();
            type Error = Never;

            fn $add<T: Serialize + ?Sized>(&mut self, $($name: $type,)? part: &T) -> Result<(), Never> {
                part.serialize(&mut **self)
            }

            $(fn $skip(&mut self, _: $type) -> Result<(), Never> {
                not_plain()
            })?

            fn end(self) -> Result<(), Never> {
                Ok(())
            }
        }
    )*};
}

parts! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStruct: serialize_field(_name: &'static str, skip_field);
    SerializeStructVariant: serialize_field(_name: &'static str, skip_field);
}

impl SerializeMap for &mut Writer {
    type Ok = ();
    type Error = Never;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Never> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Never> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Never> {
        Ok(())
    }
}
