/* Elementary functions with the same bits everywhere.
 *
 * The platform's libm differs between versions and processors in the last bit, and one bit is enough to reorder two
 * events. These use only + - * / on IEEE doubles and bit operations, so they give the same bits with every compiler,
 * level and machine (with -ffp-contract=off, which the build sets). Errors stay below 1 unit in the last place.
 * Special values follow C (Annex F); errno and floating point flags are not part of the contract. sqrt, floor, ceil and
 * fabs of <math.h> are exact by IEEE 754 and may be used beside these.
 */
#ifndef PW_SIM_MATH_H
#define PW_SIM_MATH_H

double pw_exp(double x);
double pw_exp2(double x);
double pw_log(double x);
double pw_log2(double x);
double pw_pow(double x, double y);

#endif
