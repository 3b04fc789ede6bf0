#include "placeholders.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace ktrace {
namespace {

// In the order in which src/ktrace_cli/launch/placeholders.py looks for them, too.
constexpr std::initializer_list<const char*> rank_variables = {
    "SLURM_PROCID",        "PMI_RANK",   "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK", "MPI_RANKID", "MPI_RANK",  "RANK"};
constexpr std::initializer_list<const char*> size_variables = {
    "SLURM_NTASKS", "PMI_SIZE",  "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "MPI_NRANKS",
    "MPI_SIZE",     "WORLD_SIZE"};

std::string first_of(std::initializer_list<const char*> variables) {
  for (const char* name : variables)
    if (const char* value = std::getenv(name); value && value[0]) return value;
  return "";
}

void replace_all(std::string* text, const char* placeholder, const std::string& value) {
  const std::size_t length = std::strlen(placeholder);
  for (std::size_t at = 0; (at = text->find(placeholder, at)) != std::string::npos; at += value.size())
    text->replace(at, length, value);
}

// Without a launcher of ranks there is one process: rank 0 of 1, as rocprofv3 has it.
void fill_in_first_of(std::string* text, const char* placeholder,
                      std::initializer_list<const char*> variables, const char* otherwise) {
  const std::string value = first_of(variables);
  replace_all(text, placeholder, value.empty() ? otherwise : value);
}

bool fill_in_variables(std::string* text, std::string* trouble) {
  constexpr const char* opening = "%env{";
  constexpr const char* closing = "}%";
  for (std::size_t at = 0; (at = text->find(opening, at)) != std::string::npos;) {
    const std::size_t begin = at + std::strlen(opening);
    const std::size_t end = text->find(closing, begin);
    if (end == std::string::npos) return *trouble = "its `%env{` is not closed by `}%`", false;
    const std::string name = text->substr(begin, end - begin);
    const char* value = std::getenv(name.c_str());
    if (!value || !value[0]) return *trouble = "the variable " + name + " is not set", false;
    text->replace(at, end + std::strlen(closing) - at, value);
    at += std::strlen(value);
  }
  return true;
}

}  // namespace

bool fill_in_environment(const std::string& text, std::string* result, std::string* trouble) {
  *result = text;
  fill_in_first_of(result, "%rank%", rank_variables, "0");
  fill_in_first_of(result, "%size%", size_variables, "1");
  return fill_in_variables(result, trouble);
}

std::string fill_in_process(std::string text) {
  replace_all(&text, "%pid%", std::to_string(getpid()));
  replace_all(&text, "%ppid%", std::to_string(getppid()));
  return text;
}

}  // namespace ktrace
