# frozen_string_literal: true

module Guildhall
  class Schema
    module Pattern
      # The properties of Unicode that ECMA-262 has, by its names: exactly these, where Ruby knows many more. Their characters are
      # those of the Unicode of the Ruby that runs.
      module Properties
        # Each word is a name, or `short=long`: Ruby gets the long one. One String a list: Hashes would be many objects, rarely used.
        one_line = ->(words) { " #{words.split.join(" ")} ".freeze }
        BINARY = one_line.call(<<~WORDS)
          ASCII AHex=ASCII_Hex_Digit Alpha=Alphabetic Any Assigned Bidi_C=Bidi_Control CI=Case_Ignorable Cased
          CWCF=Changes_When_Casefolded CWCM=Changes_When_Casemapped CWL=Changes_When_Lowercased CWT=Changes_When_Titlecased
          CWU=Changes_When_Uppercased Dash DI=Default_Ignorable_Code_Point Dep=Deprecated Dia=Diacritic Emoji
          EComp=Emoji_Component EMod=Emoji_Modifier EBase=Emoji_Modifier_Base EPres=Emoji_Presentation
          ExtPict=Extended_Pictographic Ext=Extender Gr_Base=Grapheme_Base Gr_Ext=Grapheme_Extend Hex=Hex_Digit
          IDSB=IDS_Binary_Operator IDST=IDS_Trinary_Operator IDC=ID_Continue IDS=ID_Start Ideo=Ideographic Join_C=Join_Control
          LOE=Logical_Order_Exception Lower=Lowercase Math NChar=Noncharacter_Code_Point Pat_Syn=Pattern_Syntax
          Pat_WS=Pattern_White_Space QMark=Quotation_Mark Radical RI=Regional_Indicator STerm=Sentence_Terminal SD=Soft_Dotted
          Term=Terminal_Punctuation UIdeo=Unified_Ideograph Upper=Uppercase VS=Variation_Selector space=White_Space
          XIDC=XID_Continue XIDS=XID_Start
        WORDS
        CATEGORIES = one_line.call(<<~WORDS)
          Cased_Letter=LC Close_Punctuation=Pe Connector_Punctuation=Pc Control=Cc cntrl=Cc Currency_Symbol=Sc
          Dash_Punctuation=Pd Decimal_Number=Nd digit=Nd Enclosing_Mark=Me Final_Punctuation=Pf Format=Cf Initial_Punctuation=Pi
          Letter=L Letter_Number=Nl Line_Separator=Zl Lowercase_Letter=Ll Mark=M Combining_Mark=M Math_Symbol=Sm
          Modifier_Letter=Lm Modifier_Symbol=Sk Nonspacing_Mark=Mn Number=N Open_Punctuation=Ps Other=C Other_Letter=Lo
          Other_Number=No Other_Punctuation=Po Other_Symbol=So Paragraph_Separator=Zp Private_Use=Co Punctuation=P punct=P
          Separator=Z Space_Separator=Zs Spacing_Mark=Mc Surrogate=Cs Symbol=S Titlecase_Letter=Lt Unassigned=Cn
          Uppercase_Letter=Lu
        WORDS
        SCRIPTS = one_line.call(<<~WORDS)
          Adlm=Adlam Ahom Hluw=Anatolian_Hieroglyphs Arab=Arabic Armn=Armenian Avst=Avestan Bali=Balinese Bamu=Bamum
          Bass=Bassa_Vah Batk=Batak Beng=Bengali Berf=Beria_Erfe Bhks=Bhaiksuki Bopo=Bopomofo Brah=Brahmi Brai=Braille
          Bugi=Buginese Buhd=Buhid Cans=Canadian_Aboriginal Cari=Carian Aghb=Caucasian_Albanian Cakm=Chakma Cham Cher=Cherokee
          Chrs=Chorasmian Zyyy=Common Copt=Coptic Qaac=Coptic Xsux=Cuneiform Cprt=Cypriot Cpmn=Cypro_Minoan Cyrl=Cyrillic
          Dsrt=Deseret Deva=Devanagari Diak=Dives_Akuru Dogr=Dogra Dupl=Duployan Egyp=Egyptian_Hieroglyphs Elba=Elbasan
          Elym=Elymaic Ethi=Ethiopic Gara=Garay Geor=Georgian Glag=Glagolitic Goth=Gothic Gran=Grantha Grek=Greek Gujr=Gujarati
          Gong=Gunjala_Gondi Guru=Gurmukhi Gukh=Gurung_Khema Hani=Han Hang=Hangul Rohg=Hanifi_Rohingya Hano=Hanunoo Hatr=Hatran
          Hebr=Hebrew Hira=Hiragana Armi=Imperial_Aramaic Zinh=Inherited Qaai=Inherited Phli=Inscriptional_Pahlavi
          Prti=Inscriptional_Parthian Java=Javanese Kthi=Kaithi Knda=Kannada Kana=Katakana Kawi Kali=Kayah_Li Khar=Kharoshthi
          Kits=Khitan_Small_Script Khmr=Khmer Khoj=Khojki Sind=Khudawadi Krai=Kirat_Rai Laoo=Lao Latn=Latin Lepc=Lepcha
          Limb=Limbu Lina=Linear_A Linb=Linear_B Lisu Lyci=Lycian Lydi=Lydian Mahj=Mahajani Maka=Makasar Mlym=Malayalam
          Mand=Mandaic Mani=Manichaean Marc=Marchen Gonm=Masaram_Gondi Medf=Medefaidrin Mtei=Meetei_Mayek Mend=Mende_Kikakui
          Merc=Meroitic_Cursive Mero=Meroitic_Hieroglyphs Plrd=Miao Modi Mong=Mongolian Mroo=Mro Mult=Multani Mymr=Myanmar
          Nbat=Nabataean Nagm=Nag_Mundari Nand=Nandinagari Talu=New_Tai_Lue Newa Nkoo=Nko Nshu=Nushu Hmnp=Nyiakeng_Puachue_Hmong
          Ogam=Ogham Olck=Ol_Chiki Onao=Ol_Onal Hung=Old_Hungarian Ital=Old_Italic Narb=Old_North_Arabian Perm=Old_Permic
          Xpeo=Old_Persian Sogo=Old_Sogdian Sarb=Old_South_Arabian Orkh=Old_Turkic Ougr=Old_Uyghur Orya=Oriya Osge=Osage
          Osma=Osmanya Hmng=Pahawh_Hmong Palm=Palmyrene Pauc=Pau_Cin_Hau Phag=Phags_Pa Phnx=Phoenician Phlp=Psalter_Pahlavi
          Rjng=Rejang Runr=Runic Samr=Samaritan Saur=Saurashtra Shrd=Sharada Shaw=Shavian Sidd=Siddham Sidt=Sidetic
          Sgnw=SignWriting Sinh=Sinhala Sogd=Sogdian Sora=Sora_Sompeng Soyo=Soyombo Sund=Sundanese Sunu=Sunuwar
          Sylo=Syloti_Nagri Syrc=Syriac Tglg=Tagalog Tagb=Tagbanwa Tale=Tai_Le Lana=Tai_Tham Tavt=Tai_Viet Tayo=Tai_Yo
          Takr=Takri Taml=Tamil Tnsa=Tangsa Tang=Tangut Telu=Telugu Thaa=Thaana Thai Tibt=Tibetan Tfng=Tifinagh Tirh=Tirhuta
          Todr=Todhri Tols=Tolong_Siki Toto Tutg=Tulu_Tigalari Ugar=Ugaritic Zzzz=Unknown Vaii=Vai Vith=Vithkuqi Wcho=Wancho
          Wara=Warang_Citi Yezi=Yezidi Yiii=Yi Zanb=Zanabazar_Square
        WORDS
        private_constant :BINARY, :CATEGORIES, :SCRIPTS

        # @param name [String, nil] "Script"; nil: `\p{Letter}`
        # @return [String, nil] Ruby's name of it; nil: ECMA-262 does not have it
        # @raise [Error] where Ruby does not
        def self.find(name, value)
          case name
          when nil then look(CATEGORIES, value) || look(BINARY, value) || missing(value)
          when "General_Category", "gc" then look(CATEGORIES, value)
          when "Script", "sc" then look(SCRIPTS, value)
          when "Script_Extensions", "scx"
            raise Error, "Ruby has no Script_Extensions; \\p{Script=#{value}} is close to it" if look(SCRIPTS, value)
          end
        end

        def self.look(names, value)
          at = names.index(" #{value}=")
          return names[(at + value.size + 2)...names.index(" ", at + 1)] if at

          value if names.include?(" #{value} ") || names.include?("=#{value} ")
        end
        private_class_method :look

        def self.missing(value)
          raise Error, "Ruby has no property #{value}" if %w[Bidi_M Bidi_Mirrored CWKCF Changes_When_NFKC_Casefolded].include?(value)
        end
        private_class_method :missing
      end
    end
  end
end
