//! Integer arithmetic that is exact or an error. DataFusion's own sums and products wrap around silently beyond 64 bits, and
//! byte-seconds of a few hundred ranks are that large.
//!
//! A sum of integers is a decimal, as in PostgreSQL, and always exact. `+`, `-` and `*` are errors beyond 64 bits.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::DFSchema;
use datafusion::common::utils::take_function_args;
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry as _;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ExprSchemable as _, GroupsAccumulator, Operator,
    Signature, Volatility, binary_expr, cast,
};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// A decimal that can hold any 64-bit integer.
const WHOLE: DataType = DataType::Decimal128(20, 0);

/// Makes a context use this arithmetic.
pub(crate) fn make(context: &mut SessionContext) -> Result<()> {
    context.register_udaf(Arc::new(AggregateUDF::from(ExactSum::default())))?;
    context.register_expr_planner(Arc::new(Checked))
}

/// DataFusion's sum, with decimals in place of integers.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactSum {
    signature: Signature,
    sum: Sum,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            sum: Sum::new(),
        }
    }
}

impl AggregateUDFImpl for ExactSum {
    fn name(&self) -> &str {
        self.sum.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [kind] = take_function_args(self.name(), types)?;
        Ok(vec![summed(kind)])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.sum.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.sum.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.sum.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.sum.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.sum.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.sum.create_sliding_accumulator(args)
    }
}

/// The type in which values of a type are summed.
fn summed(kind: &DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, values) => summed(values),
        kind if kind.is_integer() => WHOLE,
        kind if kind.is_floating() || kind.is_null() => DataType::Float64,
        kind => kind.clone(),
    }
}

/// Computes with integers as decimals, which can hold any result, and casts it back, which fails if it is too large.
#[derive(Debug)]
struct Checked;

impl ExprPlanner for Checked {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let operator = match expr.op {
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            BinaryOperator::Multiply => Operator::Multiply,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let kinds = [expr.left.get_type(schema)?, expr.right.get_type(schema)?];
        if !kinds.iter().all(DataType::is_integer) {
            return Ok(PlannerResult::Original(expr));
        }
        // The difference of two addresses may be negative.
        let kind = match kinds.contains(&DataType::UInt64) && operator != Operator::Minus {
            true => DataType::UInt64,
            false => DataType::Int64,
        };
        let [left, right] = [expr.left, expr.right].map(|side| cast(side, WHOLE));
        let computed = cast(binary_expr(left, operator, right), kind);
        Ok(PlannerResult::Planned(computed))
    }
}
